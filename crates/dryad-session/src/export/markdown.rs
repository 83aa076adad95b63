//! Markdown as HTML in which every text is escaped.
//!
//! HTML inside of markdown is shown as the text it is. Links lead only to the web or to a mail program;
//! pictures from elsewhere become links. Nothing of this depends on the page's policy, which forbids
//! the rest once more.

use super::escape::push_escaped;
use super::highlight;
use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The HTML of a markdown text.
pub(super) fn html(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { out: String::with_capacity(text.len() * 5 / 4), ..Writer::default() };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The language and text of the code block that is being read.
    code: Option<(String, String)>,
    /// Whether each open link has a target that is allowed.
    links: Vec<bool>,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.out.push_str("<code>");
                push_escaped(&text, &mut self.out);
                self.out.push_str("</code>");
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::FootnoteReference(text) => self.text(&text),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn text(&mut self, text: &CowStr<'_>) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => push_escaped(text, &mut self.out),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.push_str("<p>"),
            Tag::Heading { level, .. } => self.out.push_str(heading(level).0),
            Tag::BlockQuote(_) => self.out.push_str("<blockquote>"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::HtmlBlock => self.out.push_str("<p>"),
            Tag::List(None) => self.out.push_str("<ul>"),
            Tag::List(Some(start)) => self.out.push_str(&format!("<ol start=\"{start}\">")),
            Tag::Item => self.out.push_str("<li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.out.push_str("<div class=\"table\"><table>");
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.out.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<s>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(&dest_url),
            Tag::FootnoteDefinition(_) | Tag::MetadataBlock(_) | Tag::Superscript | Tag::Subscript => {}
            Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.out.push_str("</p>"),
            TagEnd::Heading(level) => self.out.push_str(heading(level).1),
            TagEnd::BlockQuote(_) => self.out.push_str("</blockquote>"),
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.out.push_str("<pre class=\"code\"><code>");
                    highlight::push(&language, &code, &mut self.out);
                    self.out.push_str("</code></pre>");
                }
            }
            TagEnd::List(ordered) => self.out.push_str(if ordered { "</ol>" } else { "</ul>" }),
            TagEnd::Item => self.out.push_str("</li>"),
            TagEnd::Table => self.out.push_str("</tbody></table></div>"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.push_str("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.out.push_str("</tr>"),
            TagEnd::TableCell => self.out.push_str(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</s>"),
            TagEnd::Link | TagEnd::Image => {
                if self.links.pop() == Some(true) {
                    self.out.push_str("</a>");
                }
            }
            TagEnd::FootnoteDefinition | TagEnd::MetadataBlock(_) | TagEnd::Superscript | TagEnd::Subscript => {}
            TagEnd::DefinitionList | TagEnd::DefinitionListTitle | TagEnd::DefinitionListDefinition => {}
        }
    }

    fn cell(&mut self) {
        let class = match self.alignments.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            Some(Alignment::Left | Alignment::None) | None => "",
        };
        self.column += 1;
        let tag = if self.in_head { "th" } else { "td" };
        self.out.push_str(&format!("<{tag}{class}>"));
    }

    fn link(&mut self, target: &str) {
        let lower = target.trim().to_ascii_lowercase();
        // A link inside of a link would end the outer one.
        let allowed = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
        let opens = allowed && !self.links.contains(&true);
        self.links.push(opens);
        if opens {
            self.out.push_str("<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"");
            push_escaped(target.trim(), &mut self.out);
            self.out.push_str("\">");
        }
    }
}

fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>"),
        HeadingLevel::H2 => ("<h4>", "</h4>"),
        HeadingLevel::H3 => ("<h5>", "</h5>"),
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => ("<h6>", "</h6>"),
    }
}
