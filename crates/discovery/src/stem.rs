//! Porter's stemmer for English: `connections`, `connected` and `connecting` become `connect`.
//!
//! Words with letters outside a-z are left as they are.

/// The stem of a lower-case word.
pub fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut w = Word(word.as_bytes().to_vec());
    w.plural();
    w.past();
    w.y_to_i();
    w.swap(&LONG);
    w.swap(&MIDDLE);
    w.drop_ending();
    w.tidy();
    // Cannot fail: only ASCII letters are kept, removed or inserted.
    String::from_utf8(w.0).unwrap_or_else(|_| word.to_owned())
}

const LONG: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const MIDDLE: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const ENDINGS: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
];

struct Word(Vec<u8>);

impl Word {
    fn consonant(&self, at: usize) -> bool {
        match self.0[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.consonant(at - 1),
            _ => true,
        }
    }

    /// Number of vowel-consonant sequences in the first `len` letters.
    fn measure(&self, len: usize) -> usize {
        let mut count = 0;
        let mut vowel = false;
        for at in 0..len {
            match self.consonant(at) {
                true if vowel => {
                    count += 1;
                    vowel = false;
                }
                true => {}
                false => vowel = true,
            }
        }
        count
    }

    fn has_vowel(&self, len: usize) -> bool {
        (0..len).any(|at| !self.consonant(at))
    }

    fn doubled(&self) -> bool {
        let n = self.0.len();
        n >= 2 && self.0[n - 1] == self.0[n - 2] && self.consonant(n - 1)
    }

    /// Ends with consonant, vowel, consonant, the last not w, x or y.
    fn short(&self, len: usize) -> bool {
        len >= 3
            && self.consonant(len - 1)
            && !self.consonant(len - 2)
            && self.consonant(len - 3)
            && !matches!(self.0[len - 1], b'w' | b'x' | b'y')
    }

    /// The length without `ending`, if the word ends with it.
    fn without(&self, ending: &str) -> Option<usize> {
        self.0
            .ends_with(ending.as_bytes())
            .then(|| self.0.len() - ending.len())
    }

    fn replace(&mut self, len: usize, with: &str) {
        self.0.truncate(len);
        self.0.extend_from_slice(with.as_bytes());
    }

    fn plural(&mut self) {
        if let Some(len) = self.without("sses") {
            self.replace(len, "ss");
        } else if let Some(len) = self.without("ies") {
            self.replace(len, "i");
        } else if self.without("ss").is_none()
            && let Some(len) = self.without("s")
        {
            self.replace(len, "");
        }
    }

    fn past(&mut self) {
        if let Some(len) = self.without("eed") {
            if self.measure(len) > 0 {
                self.replace(len, "ee");
            }
            return;
        }
        let Some(len) = self.without("ed").or_else(|| self.without("ing")) else {
            return;
        };
        if !self.has_vowel(len) {
            return;
        }
        self.replace(len, "");
        if ["at", "bl", "iz"]
            .iter()
            .any(|end| self.without(end).is_some())
        {
            self.0.push(b'e');
        } else if self.doubled() && !matches!(self.0.last(), Some(b'l' | b's' | b'z')) {
            self.0.pop();
        } else if self.measure(self.0.len()) == 1 && self.short(self.0.len()) {
            self.0.push(b'e');
        }
    }

    fn y_to_i(&mut self) {
        if let Some(len) = self.without("y")
            && self.has_vowel(len)
        {
            self.replace(len, "i");
        }
    }

    fn swap(&mut self, table: &[(&str, &str)]) {
        for (ending, with) in table {
            if let Some(len) = self.without(ending) {
                if self.measure(len) > 0 {
                    self.replace(len, with);
                }
                return;
            }
        }
    }

    fn drop_ending(&mut self) {
        for ending in ENDINGS {
            if let Some(len) = self.without(ending) {
                let fits = ending != "ion" || (len > 0 && matches!(self.0[len - 1], b's' | b't'));
                if fits && self.measure(len) > 1 {
                    self.replace(len, "");
                }
                return;
            }
        }
    }

    fn tidy(&mut self) {
        if let Some(len) = self.without("e") {
            let measure = self.measure(len);
            if measure > 1 || (measure == 1 && !self.short(len)) {
                self.replace(len, "");
            }
        }
        if self.0.ends_with(b"ll") && self.measure(self.0.len() - 1) > 1 {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &[
                "connect",
                "connected",
                "connecting",
                "connection",
                "connections",
            ][..],
            &["search", "searches", "searching", "searched"],
            &[
                "calculate",
                "calculates",
                "calculated",
                "calculation",
                "calculator",
            ],
            &["reply", "replies", "replied"],
            &["summarize", "summarizes", "summarized"],
            &["hop", "hopping", "hops"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem(form)).collect();
            assert!(
                stems.iter().all(|one| *one == stems[0]),
                "{forms:?} {stems:?}"
            );
        }
    }

    #[test]
    fn the_stems_are_porter_s() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sized", "size"),
            ("falling", "fall"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("vietnamization", "vietnam"),
            ("formalize", "formal"),
            ("electrical", "electr"),
            ("goodness", "good"),
            ("revival", "reviv"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controll", "control"),
            ("roll", "roll"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn other_scripts_and_digits_are_left_alone() {
        for word in ["\u{fc}bung", "\u{5929}\u{6c14}", "42", "ab"] {
            assert_eq!(stem(word), word);
        }
    }
}
