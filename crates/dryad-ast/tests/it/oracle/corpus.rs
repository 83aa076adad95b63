//! Patterns and rewrites for every language, and for this repository's own source.

/// One pattern, what takes its place, and where it is looked for.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) language: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) out: Option<&'static str>,
    pub(crate) selector: Option<&'static str>,
}

const fn find(language: &'static str, pattern: &'static str) -> Case {
    Case { language, pattern, out: None, selector: None }
}

const fn change(language: &'static str, pattern: &'static str, out: &'static str) -> Case {
    Case { language, pattern, out: Some(out), selector: None }
}

const fn select(language: &'static str, pattern: &'static str, kind: &'static str) -> Case {
    Case { language, pattern, out: None, selector: Some(kind) }
}

/// The files of the corpus with the patterns for each.
#[rustfmt::skip]
pub(crate) const FILES: &[(&str, &[Case])] = &[
    ("shop.ts", &[
        change("typescript", "console.log($$$A)", "log.info($$$A)"),
        change("typescript", "throw new Error($M);", "fail(\n  $M,\n);"),
        change("typescript", "if ($A == null) { $$$B }", "if ($A === undefined) {\n  note();\n  $$$B\n}"),
        change("typescript", "console.log($$$A);", ""),
        find("typescript", "($A) => $B"),
        find("typescript", "new $C($$$A)"),
        find("typescript", "$A && $A.$B"),
        find("typescript", "$_.$M($$$)"),
        select("typescript", "class A { $N($$$P): number { $$$B } }", "method_definition"),
    ]),
    ("view.tsx", &[
        change("tsx", "useState($A)", "useSignal($A)"),
        change("tsx", "<Badge $$$A />", "<Chip $$$A />"),
        find("tsx", "<button $$$A>$$$B</button>"),
        find("tsx", "useState<$T>($A)"),
        find("tsx", "const [$A, $B] = $C"),
        find("tsx", "$F && $F()"),
    ]),
    ("server.js", &[
        change("javascript", "var $A = $B;", "let $A = $B;"),
        change("javascript", "require($M)", "load($M)"),
        change("javascript", "$A == $B", "$A === $B"),
        change("javascript", "function $F($$$P) { $$$B }", "const $F = ($$$P) => {\n  $$$B\n}"),
        find("javascript", "$O.end($A)"),
        find("javascript", "{ $K: $V }"),
        find("javascript", "`$$$A`"),
        find("javascript", "[1, 2, $$$R]"),
    ]),
    ("tasks.py", &[
        change("python", "print($$$A)", "logging.info($$$A)"),
        change("python", "assert $C, $M", "check($C, $M)"),
        change("python", "with open($P) as $F:\n    $$$B", "with path($P).open() as $F:\n    check()\n    $$$B"),
        change("python", "if $X is None:\n    $$$B", "if not $X:\n    $$$B"),
        find("python", "def $F($$$A): $$$B"),
        find("python", "import $M"),
        find("python", "$A.$B($$$C)"),
        find("python", "try:\n    $$$A\nexcept $E as $N:\n    $$$B\nfinally:\n    $$$C"),
        find("python", "@dataclass"),
    ]),
    ("store.go", &[
        change("go", "fmt.Errorf($A, $B, $C)", "wrap($C, $A, $B)"),
        find("go", "if err != nil { $$$B }"),
        find("go", "return $A, nil"),
        find("go", "$A := $B"),
        find("go", "func ($R $T) $F($$$P) error { $$$B }"),
        select("go", "package p; func f() { fmt.Println($$$A) }", "call_expression"),
    ]),
    ("Account.java", &[
        change("java", "$S.equals(\"\")", "$S.isEmpty()"),
        change("java", "throw new $E($M);", "throw fail(\n    $E.class,\n    $M);"),
        change("java", "System.out.println($A)", "log.info($A)"),
        find("java", "if ($C) { $$$B }"),
        find("java", "import $$$P;"),
        find("java", "$A > $B"),
        select("java", "class A { @Override $$$M }", "marker_annotation"),
    ]),
    ("list.c", &[
        change("c", "node *$A = malloc($N);", "node *$A = xmalloc($N);"),
        change("c", "free($P);", ""),
        change("c", "$P == NULL", "!$P"),
        change("c", "while ($C) { $$$B }", "while ($C) {\n    tick();\n    $$$B\n}"),
        find("c", "printf($F, $$$A)"),
        find("c", "$A->$B"),
    ]),
    ("shapes.cpp", &[
        change("cpp", "std::make_unique<$T>($$$A)", "made<$T>($$$A)"),
        change("cpp", "$S->area()", "$S->size()"),
        find("cpp", "return $A;"),
        find("cpp", "std::cout << $$$A"),
        find("cpp", "static_cast<$T>($A)"),
        find("cpp", "for (const auto &$A : $B) { $$$C }"),
    ]),
    ("deploy.sh", &[
        change("bash", "rm -rf $D", "trash $D"),
        change("bash", "echo $M", "printf $M"),
        find("bash", "exit $N"),
        find("bash", "cp $$$A"),
        find("bash", "if $C; then $$$B; fi"),
        find("bash", "grep -q $P $F"),
    ]),
    ("page.html", &[
        change("html", "<div class=\"card\">$$$A</div>", "<section>$$$A</section>"),
        find("html", "<p>$A</p>"),
        find("html", "<$T class=\"card\">$$$A</$T>"),
        change("javascript", "console.log($$$A)", "print($$$A)"),
        find("typescript", "compute($A)"),
        change("css", "color: black;", "color: white;"),
    ]),
    ("style.css", &[
        change("css", "color: red;", "color: #f00;"),
        find("css", "color: $C;"),
        find("css", "margin: $V;"),
    ]),
    ("package.json", &[
        change("json", "\"^1.0.0\"", "\"^2.0.0\""),
        find("json", "{\"deep\": $A}"),
        find("json", "$A: $B"),
        find("json", "[1, 2, null, {\"deep\": true}]"),
        find("json", "true"),
    ]),
    ("app.rb", &[
        change("ruby", "puts $A", "warn $A"),
        find("ruby", "def $F($$$A)\n  $$$B\nend"),
        find("ruby", "$A.new($$$B)"),
        find("ruby", "JSON.parse($A)"),
    ]),
    ("cart.php", &[
        change("php", "array()", "[]"),
        change("php", "sprintf($$$A)", "format($$$A)"),
        find("php", "isset($A)"),
        find("php", "array_sum($A)"),
    ]),
    ("Program.cs", &[
        change("csharp", "Console.WriteLine($A)", "Log.Info($A)"),
        find("csharp", "new $T($$$A)"),
        find("csharp", "if ($C) $B"),
        find("csharp", "$A => $B"),
    ]),
    ("game.lua", &[
        change("lua", "print($$$A)", "log($$$A)"),
        find("lua", "$A == nil"),
        find("lua", "setmetatable($A, $B)"),
        find("lua", "local $A = $B"),
    ]),
    ("ci.yaml", &[
        change("yaml", "PORT: 8080", "PORT: 80"),
        find("yaml", "run: $A"),
        find("yaml", "[push]"),
    ]),
];

/// Patterns and rewrites of Rust.
pub(crate) const OVER_OUR_OWN_SOURCE: &[Case] = &[
    find("rust", "$A?"),
    find("rust", "let $A = $B;"),
    find("rust", "$A.$M($$$B)"),
    find("rust", "fn $F($$$P) -> $R { $$$B }"),
    find("rust", "match $X { $$$A }"),
    find("rust", "if let Some($A) = $B { $$$C }"),
    find("rust", "assert_eq!($$$A)"),
    find("rust", "Some($A)"),
    find("rust", "#[derive($$$A)]"),
    find("rust", "|$A| $B"),
    find("rust", "use $$$P;"),
    change("rust", "let mut $A = Vec::new();", "let mut $A = vec![];"),
    change("rust", "fn new($$$P) -> Self { $$$B }", "fn made(\n    $$$P\n) -> Self {\n    let _ = ();\n    $$$B\n}"),
    change("rust", "assert_eq!($A, $B);", "check(\n    $A,\n    $B,\n);"),
    change("rust", "String::new()", "String::default()"),
    change("rust", "impl Default for $T { $$$B }", ""),
];
