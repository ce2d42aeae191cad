//! Simple highlighting of code: comments, strings, numbers and keywords.

use crate::style::Style;
use crate::wrap::StyledText;

const COMMENT: Style = Style::DIM;
const STRING: Style = Style::GREEN;
const NUMBER: Style = Style::YELLOW;
const KEYWORD: Style = Style::MAGENTA;

/// What has to be known of a language.
struct Syntax {
    names: &'static [&'static str],
    line_comment: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    /// Delimiters of strings that end on their line.
    quotes: &'static [char],
    /// Delimiters of strings of several lines.
    long_quotes: &'static [&'static str],
    keywords: &'static str,
}

const SYNTAXES: &[Syntax] = &[
    Syntax {
        names: &["rust", "rs"],
        line_comment: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"'],
        long_quotes: &[],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Syntax {
        names: &[
            "javascript",
            "js",
            "jsx",
            "typescript",
            "ts",
            "tsx",
            "svelte",
            "vue",
        ],
        line_comment: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '\''],
        long_quotes: &["`"],
        keywords: "abstract as async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of private protected public readonly return static super switch this throw true try type typeof undefined var void while yield",
    },
    Syntax {
        names: &["python", "py"],
        line_comment: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        long_quotes: &["\"\"\"", "'''"],
        keywords: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield",
    },
    Syntax {
        names: &["go", "golang"],
        line_comment: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '\''],
        long_quotes: &["`"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
    },
    Syntax {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "kotlin", "kt", "swift", "csharp", "cs",
            "c#", "scala", "php", "dart", "zig",
        ],
        line_comment: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '\''],
        long_quotes: &["\"\"\""],
        keywords: "abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum extends extern false final finally float for foreach fun func function goto guard if implements import in include inline int interface internal let long namespace new nil null nullptr object override package private protected public return short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned use using val var virtual void volatile when while",
    },
    Syntax {
        names: &[
            "sh",
            "bash",
            "zsh",
            "shell",
            "console",
            "fish",
            "dockerfile",
            "makefile",
            "make",
            "powershell",
            "ps1",
        ],
        line_comment: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        long_quotes: &[],
        keywords: "case do done elif else esac export fi for function if in local return set then until while FROM RUN COPY ENV CMD ENTRYPOINT WORKDIR",
    },
    Syntax {
        names: &[
            "ruby", "rb", "elixir", "ex", "perl", "pl", "lua", "r", "julia", "jl", "nix",
        ],
        line_comment: &["#", "--"],
        block_comment: None,
        quotes: &['"', '\''],
        long_quotes: &["''"],
        keywords: "and begin break case class def do else elsif elseif end ensure false fn for function if in inherit let local module my next nil not or rec repeat require rescue return self sub super then true unless until use when while with yield",
    },
    Syntax {
        names: &["sql", "sqlite", "postgres", "mysql"],
        line_comment: &["--"],
        block_comment: Some(("/*", "*/")),
        quotes: &['\'', '"'],
        long_quotes: &[],
        keywords: "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null on or order outer primary references returning right rollback select set table then union unique update using values view when where with",
    },
    Syntax {
        names: &["json", "jsonc", "json5"],
        line_comment: &["//"],
        block_comment: None,
        quotes: &['"'],
        long_quotes: &[],
        keywords: "true false null",
    },
    Syntax {
        names: &[
            "yaml",
            "yml",
            "toml",
            "ini",
            "conf",
            "properties",
            "env",
            "hcl",
            "terraform",
        ],
        line_comment: &["#", ";"],
        block_comment: None,
        quotes: &['"', '\''],
        long_quotes: &["\"\"\""],
        keywords: "true false null yes no on off",
    },
    Syntax {
        names: &["html", "xml", "svg"],
        line_comment: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: &['"', '\''],
        long_quotes: &[],
        keywords: "",
    },
    Syntax {
        names: &["css", "scss", "less"],
        line_comment: &[],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '\''],
        long_quotes: &[],
        keywords: "important inherit initial none auto",
    },
];

/// Highlights code line by line.
pub struct Highlighter {
    syntax: Option<&'static Syntax>,
    is_diff: bool,
    /// The delimiter that ends a comment or string of several lines, and its style.
    open: Option<(&'static str, Style)>,
}

impl Highlighter {
    /// A highlighter for a language; one that is not known is not highlighted.
    pub fn new(language: &str) -> Self {
        let language = language.to_ascii_lowercase();
        let known = |syntax: &&Syntax| syntax.names.contains(&language.as_str());
        Self {
            syntax: SYNTAXES.iter().find(known),
            is_diff: matches!(language.as_str(), "diff" | "patch"),
            open: None,
        }
    }

    /// Highlights the next line.
    pub fn line(&mut self, line: &str) -> Vec<StyledText> {
        if self.is_diff {
            return vec![StyledText::new(line, diff_style(line))];
        }
        let Some(syntax) = self.syntax else {
            return vec![StyledText::new(line, Style::PLAIN)];
        };
        let mut spans: Vec<StyledText> = Vec::new();
        let mut rest = line;
        let mut push = |text: &str, style| match spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ if text.is_empty() => {}
            _ => spans.push(StyledText::new(text, style)),
        };
        let mut after_word = false;
        while let Some(c) = rest.chars().next() {
            if let Some((end, style)) = self.open {
                let len = rest.find(end).map(|at| at + end.len());
                let (text, after) = rest.split_at(len.unwrap_or(rest.len()));
                push(text, style);
                rest = after;
                if len.is_some() {
                    self.open = None;
                }
                continue;
            }
            let starts = |text: &&&str| rest.starts_with(**text);
            let (len, style) = if let Some((start, end)) = syntax.block_comment
                && rest.starts_with(start)
            {
                self.open = Some((end, COMMENT));
                (start.len(), COMMENT)
            } else if syntax.line_comment.iter().any(|start| {
                // `#` inside a word is none, as in `$#` or `a#b`.
                rest.starts_with(start) && (!after_word || *start == "//")
            }) {
                (rest.len(), COMMENT)
            } else if let Some(quote) = syntax.long_quotes.iter().find(starts) {
                self.open = Some((*quote, STRING));
                (quote.len(), STRING)
            } else if syntax.quotes.contains(&c) {
                (string(rest, c), STRING)
            } else if is_word(c) {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (len, word_style(syntax, &rest[..len]))
            } else {
                (c.len_utf8(), Style::PLAIN)
            };
            let (text, after) = rest.split_at(len);
            push(text, style);
            after_word = !text.ends_with(char::is_whitespace);
            rest = after;
        }
        spans
    }
}

/// The style of a line of a unified diff.
pub fn diff_style(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Style::STRONG,
        [b'+', ..] => Style::GREEN,
        [b'-', ..] => Style::RED,
        [b'@', b'@', ..] => Style::CYAN,
        [b'*', b'*', b'*', b' ', ..] => Style::STRONG,
        _ => Style::PLAIN,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_style(syntax: &Syntax, word: &str) -> Style {
    let is_sql = syntax.names[0] == "sql";
    let is = |known: &str| known == word || (is_sql && known.eq_ignore_ascii_case(word));
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        NUMBER
    } else if syntax.keywords.split(' ').any(is) {
        KEYWORD
    } else {
        Style::PLAIN
    }
}

/// Length of the string that `text` begins with; it ends with the line at the latest.
fn string(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: &str, lines: &[&str], expect: &[(&str, Style)]) {
        let mut highlighter = Highlighter::new(language);
        let spans: Vec<StyledText> = lines
            .iter()
            .flat_map(|line| highlighter.line(line))
            .collect();
        for (text, style) in expect {
            let span = StyledText::new(*text, *style);
            assert!(spans.contains(&span), "{text:?} is not in {spans:#?}");
        }
        let all: String = spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(all, lines.concat(), "nothing is lost");
    }

    #[test]
    fn code_is_highlighted() {
        check(
            "rust",
            &["let x = \"a\\\"b\"; // 5", "/* one", "two */ 42 letter"],
            &[
                ("let", KEYWORD),
                ("\"a\\\"b\"", STRING),
                ("// 5", COMMENT),
                ("/* one", COMMENT),
                ("two */", COMMENT),
                ("42", NUMBER),
            ],
        );
        check(
            "py",
            &[
                "def f():",
                "  \"\"\"doc",
                "string\"\"\"",
                "  return 1 # end",
            ],
            &[
                ("def", KEYWORD),
                ("string\"\"\"", STRING),
                ("# end", COMMENT),
            ],
        );
        check(
            "sh",
            &["echo $# a#b 'x' # c"],
            &[("'x'", STRING), ("# c", COMMENT)],
        );
        check(
            "SQL",
            &["SELECT 1 -- x"],
            &[("SELECT", KEYWORD), ("-- x", COMMENT)],
        );
        check(
            "diff",
            &["+a", "-b", "@@ 1"],
            &[("+a", Style::GREEN), ("-b", Style::RED)],
        );
        check("unknown", &["let x"], &[("let x", Style::PLAIN)]);
    }
}
