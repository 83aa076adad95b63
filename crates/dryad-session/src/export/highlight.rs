//! Code with its comments, strings, numbers and keywords marked.
//!
//! One scanner for all languages, told apart by how comments begin and which words are keywords. It knows
//! no grammar: a page of thousands of code blocks is made in the time that one parser would take to load.

use super::escape::push_escaped;

/// How a family of languages is written.
struct Family {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    keywords: &'static str,
}

const FAMILIES: &[Family] = &[
    Family {
        names: &["rust", "rs"],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Family {
        names: &["js", "javascript", "ts", "typescript", "jsx", "tsx", "mjs"],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"'`",
        keywords: "abstract any as async await break case catch class const continue declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface let namespace new null of private protected public readonly return set static super switch this throw true try type typeof undefined var void while yield",
    },
    Family {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "kotlin", "kt", "go", "swift", "cs", "csharp", "scala",
            "dart", "php", "zig",
        ],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"'`",
        keywords: "abstract auto bool boolean break case catch chan char class const constexpr continue default defer delete do double else enum extends extern false final finally float fn for fun func go goto guard if implements import in int interface internal let long map namespace new nil null nullptr override package private protected public range return self short signed sizeof static string struct super switch template this throw throws true try type typedef typename union unsigned using val var virtual void volatile when where while",
    },
    Family {
        names: &["python", "py", "python3"],
        line_comments: &["#"],
        block_comment: None,
        quotes: "\"'",
        keywords: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield",
    },
    Family {
        names: &["sh", "bash", "zsh", "shell", "console", "fish", "make", "makefile", "dockerfile", "docker"],
        line_comments: &["#"],
        block_comment: None,
        quotes: "\"'",
        keywords: "case do done elif else esac exit export fi for function if in local read return set shift then trap unset until while cd echo sudo FROM RUN COPY ENV WORKDIR CMD ENTRYPOINT",
    },
    Family {
        names: &["toml", "yaml", "yml", "ini", "ruby", "rb", "perl", "pl", "r", "nix", "elixir", "conf"],
        line_comments: &["#"],
        block_comment: None,
        quotes: "\"'",
        keywords: "and begin case class def do else elsif end ensure false for if in let module my next nil null or rescue return self sub then true unless until use when while with yes no",
    },
    Family {
        names: &["sql", "lua", "haskell", "hs"],
        line_comments: &["--"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"'",
        keywords: "add alter and as begin by case create data delete desc distinct do drop else elseif end exists false for from function group having if import in index insert into instance is join key left let limit local module nil not null of on or order primary repeat return select set table then true type union unique update until values view where while with ADD ALTER AND AS BEGIN BY CASE CREATE DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP HAVING IF IN INDEX INSERT INTO IS JOIN KEY LEFT LIMIT NOT NULL ON OR ORDER PRIMARY SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES VIEW WHERE WITH",
    },
    Family {
        names: &["css", "scss", "less"],
        line_comments: &[],
        block_comment: Some(("/*", "*/")),
        quotes: "\"'",
        keywords: "important media import supports keyframes font-face root hover",
    },
    Family {
        names: &["json", "jsonc", "json5", "jsonl"],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"",
        keywords: "true false null",
    },
    Family {
        names: &["html", "xml", "svg", "vue"],
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: "\"'",
        keywords: "",
    },
];

/// Appends code of a language as HTML. Languages that are not known are only escaped.
pub(super) fn push(language: &str, code: &str, out: &mut String) {
    let language = language.to_ascii_lowercase();
    if language == "diff" || language == "patch" {
        return push_diff(code, out);
    }
    match FAMILIES.iter().find(|family| family.names.contains(&language.as_str())) {
        Some(family) => scan(family, code, out),
        None => push_escaped(code, out),
    }
}

fn push_diff(code: &str, out: &mut String) {
    for line in code.split_inclusive('\n') {
        let class = match line.as_bytes().first() {
            Some(b'+') => "da",
            Some(b'-') => "dr",
            Some(b'@') => "dh",
            Some(_) | None => {
                push_escaped(line, out);
                continue;
            }
        };
        push_marked(class, line, out);
    }
}

fn scan(family: &Family, code: &str, out: &mut String) {
    let mut rest = code;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let (class, length) = token(family, rest, first, after_word);
        let (text, later) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match class {
            Some(class) => push_marked(class, text, out),
            None => push_escaped(text, out),
        }
        after_word = text.chars().last().is_some_and(is_word);
        rest = later;
    }
}

/// The class and length of what the text begins with.
fn token(family: &Family, rest: &str, first: char, after_word: bool) -> (Option<&'static str>, usize) {
    if family.line_comments.iter().any(|start| rest.starts_with(start)) {
        return (Some("hc"), rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some((start, end)) = family.block_comment
        && rest.starts_with(start)
    {
        return (Some("hc"), rest.find(end).map_or(rest.len(), |at| at + end.len()));
    }
    if family.quotes.contains(first) {
        return (Some("hs"), string_length(rest, first));
    }
    if !is_word(first) {
        let plain =
            |character: char| is_word(character) || family.quotes.contains(character) || "/#-<".contains(character);
        let more = rest.char_indices().skip(1).find(|(_, character)| plain(*character));
        return (None, more.map_or(rest.len(), |(at, _)| at));
    }
    let length = rest.find(|character: char| !is_word(character)).unwrap_or(rest.len());
    let word = rest.get(..length).unwrap_or_default();
    let class = match () {
        () if after_word => None,
        () if first.is_ascii_digit() => Some("hn"),
        () if family.keywords.split(' ').any(|keyword| keyword == word) => Some("hk"),
        () => None,
    };
    (class, length)
}

/// The length of the string that the text begins with: to its quote, or to the end of the line.
fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return at,
            _ if character == quote => return at + character.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn push_marked(class: &str, text: &str, out: &mut String) {
    out.push_str("<span class=\"");
    out.push_str(class);
    out.push_str("\">");
    push_escaped(text, out);
    out.push_str("</span>");
}
