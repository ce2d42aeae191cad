//! Glyph names and base encodings.

use encoding_rs::{MACINTOSH, WINDOWS_1252};

/// Names in ASCII order from the space on.
const ASCII: &str = "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma \
    hyphen period slash zero one two three four five six seven eight nine colon semicolon less equal greater question at \
    A B C D E F G H I J K L M N O P Q R S T U V W X Y Z bracketleft backslash bracketright asciicircum underscore grave \
    a b c d e f g h i j k l m n o p q r s t u v w x y z braceleft bar braceright asciitilde";

/// Names in Latin-1 order from 0xA1 on.
const LATIN: &str = "exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft logicalnot \
    softhyphen registered macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla onesuperior \
    ordmasculine guillemotright onequarter onehalf threequarters questiondown Agrave Aacute Acircumflex Atilde Adieresis Aring AE \
    Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex Idieresis Eth Ntilde Ograve Oacute Ocircumflex Otilde \
    Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls agrave aacute acircumflex atilde adieresis \
    aring ae ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex idieresis eth ntilde ograve oacute ocircumflex \
    otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute thorn ydieresis";

/// Other common names.
const OTHERS: [(&str, char); 62] = [
    ("fi", '\u{fb01}'),
    ("fl", '\u{fb02}'),
    ("ff", '\u{fb00}'),
    ("ffi", '\u{fb03}'),
    ("ffl", '\u{fb04}'),
    ("quoteleft", '‘'),
    ("quoteright", '’'),
    ("quotedblleft", '“'),
    ("quotedblright", '”'),
    ("quotesinglbase", '‚'),
    ("quotedblbase", '„'),
    ("guilsinglleft", '‹'),
    ("guilsinglright", '›'),
    ("endash", '–'),
    ("emdash", '—'),
    ("bullet", '•'),
    ("ellipsis", '…'),
    ("dagger", '†'),
    ("daggerdbl", '‡'),
    ("perthousand", '‰'),
    ("trademark", '™'),
    ("Euro", '€'),
    ("florin", 'ƒ'),
    ("fraction", '⁄'),
    ("minus", '−'),
    ("nbspace", ' '),
    ("OE", 'Œ'),
    ("oe", 'œ'),
    ("Scaron", 'Š'),
    ("scaron", 'š'),
    ("Zcaron", 'Ž'),
    ("zcaron", 'ž'),
    ("Ydieresis", 'Ÿ'),
    ("Lslash", 'Ł'),
    ("lslash", 'ł'),
    ("dotlessi", 'ı'),
    ("circumflex", 'ˆ'),
    ("tilde", '˜'),
    ("caron", 'ˇ'),
    ("breve", '˘'),
    ("dotaccent", '˙'),
    ("ring", '˚'),
    ("ogonek", '˛'),
    ("hungarumlaut", '˝'),
    ("Ccaron", 'Č'),
    ("ccaron", 'č'),
    ("Cacute", 'Ć'),
    ("cacute", 'ć'),
    ("Ecaron", 'Ě'),
    ("ecaron", 'ě'),
    ("Eogonek", 'Ę'),
    ("eogonek", 'ę'),
    ("Aogonek", 'Ą'),
    ("aogonek", 'ą'),
    ("Nacute", 'Ń'),
    ("nacute", 'ń'),
    ("Sacute", 'Ś'),
    ("sacute", 'ś'),
    ("Zdotaccent", 'Ż'),
    ("zdotaccent", 'ż'),
    ("notequal", '≠'),
    ("lessequal", '≤'),
];

/// The used part of the upper half of Adobe's standard encoding.
const STANDARD: [(usize, &str); 42] = [
    (0x27, "quoteright"),
    (0x60, "quoteleft"),
    (0xa1, "exclamdown"),
    (0xa2, "cent"),
    (0xa3, "sterling"),
    (0xa4, "fraction"),
    (0xa5, "yen"),
    (0xa6, "florin"),
    (0xa7, "section"),
    (0xa8, "currency"),
    (0xa9, "quotesingle"),
    (0xaa, "quotedblleft"),
    (0xab, "guillemotleft"),
    (0xac, "guilsinglleft"),
    (0xad, "guilsinglright"),
    (0xae, "fi"),
    (0xaf, "fl"),
    (0xb1, "endash"),
    (0xb2, "dagger"),
    (0xb3, "daggerdbl"),
    (0xb4, "periodcentered"),
    (0xb6, "paragraph"),
    (0xb7, "bullet"),
    (0xb8, "quotesinglbase"),
    (0xb9, "quotedblbase"),
    (0xba, "quotedblright"),
    (0xbb, "guillemotright"),
    (0xbc, "ellipsis"),
    (0xbd, "perthousand"),
    (0xbf, "questiondown"),
    (0xc1, "grave"),
    (0xc2, "acute"),
    (0xc8, "dieresis"),
    (0xd0, "emdash"),
    (0xe1, "AE"),
    (0xe3, "ordfeminine"),
    (0xe8, "Lslash"),
    (0xe9, "Oslash"),
    (0xea, "OE"),
    (0xf1, "ae"),
    (0xf9, "oslash"),
    (0xfb, "germandbls"),
];

/// The characters of an encoding.
pub(super) fn base(name: &str) -> Vec<Option<char>> {
    let known = match name {
        "WinAnsiEncoding" => Some(WINDOWS_1252),
        "MacRomanEncoding" => Some(MACINTOSH),
        _ => None,
    };
    let mut meanings: Vec<Option<char>> = (0..=255_u8)
        .map(|code| match known {
            Some(encoding) => encoding
                .decode_without_bom_handling(&[code])
                .0
                .chars()
                .next(),
            None => code.is_ascii().then(|| char::from(code)),
        })
        .map(|meaning| meaning.filter(|c| !c.is_control()))
        .collect();
    if known.is_none() {
        for (code, glyph) in STANDARD {
            meanings[code] = named(glyph);
        }
    }
    meanings
}

/// The character of a named glyph.
pub(super) fn named(name: &str) -> Option<char> {
    let plain = name.split('.').next().unwrap_or_default();
    let listed = |names: &str, from: u32| {
        let index = names
            .split_ascii_whitespace()
            .position(|one| one == plain)?;
        char::from_u32(from + u32::try_from(index).ok()?)
    };
    let by_number = |digits: &str| {
        let fits = (4..=6).contains(&digits.len());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| fits)?;
        char::from_u32(number)
    };
    let other = || {
        OTHERS
            .iter()
            .find(|(one, _)| *one == plain)
            .map(|(_, c)| *c)
    };
    let numbered = || {
        let digits = plain
            .strip_prefix("uni")
            .or_else(|| plain.strip_prefix('u'))?;
        by_number(digits)
    };
    listed(ASCII, 0x20)
        .or_else(|| listed(LATIN, 0xa1))
        .or_else(other)
        .or_else(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_and_codes_mean_what_they_show() {
        for (name, shown) in [
            ("A", 'A'),
            ("space", ' '),
            ("asciitilde", '~'),
            ("exclamdown", '¡'),
            ("ydieresis", 'ÿ'),
            ("germandbls", 'ß'),
            ("fi", 'ﬁ'),
            ("uni20AC", '€'),
            ("u1F600", '😀'),
            ("a.alt", 'a'),
        ] {
            assert_eq!(named(name), Some(shown), "{name}");
        }
        assert_eq!(named("g123"), None);
        assert_eq!(base("WinAnsiEncoding")[0x80], Some('€'));
        assert_eq!(base("MacRomanEncoding")[0x8e], Some('é'));
        assert_eq!(base("")[0x27], Some('’'));
        assert_eq!(base("")[0x41], Some('A'));
    }
}
