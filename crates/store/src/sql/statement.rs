//! Statements: SQL made of literals, with all values as parameters.

use std::borrow::Cow;

use manyhands_core::Timestamp;

/// A value. NULL has a type, because PostgreSQL requires one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Param {
    Text(Option<String>),
    Int(Option<i64>),
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for Param {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Param {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}

impl From<Option<i64>> for Param {
    fn from(number: Option<i64>) -> Self {
        Self::Int(number)
    }
}

impl From<Timestamp> for Param {
    fn from(at: Timestamp) -> Self {
        Self::Int(Some(at.0))
    }
}

impl From<Option<Timestamp>> for Param {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Int(at.map(|at| at.0))
    }
}

/// Splits `items` into groups of few different sizes, so that there are few different statements and all stay prepared.
pub(crate) fn in_groups<T>(items: Vec<T>) -> Vec<Vec<T>> {
    let (mut groups, mut rest) = (Vec::new(), items.into_iter());
    // Powers of two: any number of rows needs few statements, and at most seven different ones are prepared.
    for size in [64, 32, 16, 8, 4, 2, 1] {
        while rest.len() >= size {
            groups.push(rest.by_ref().take(size).collect());
        }
    }
    groups
}

/// A statement and its parameters. Its text consists of literals only, so no input can become SQL.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    text: Cow<'static, str>,
    params: Vec<Param>,
}

impl Statement {
    pub(crate) fn new(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            params: Vec::new(),
        }
    }

    /// Gives the next placeholder its value.
    pub(crate) fn bind(mut self, value: impl Into<Param>) -> Self {
        self.params.push(value.into());
        self
    }

    /// Appends a literal.
    pub(crate) fn then(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Appends a literal, a placeholder and its value.
    pub(crate) fn then_with(mut self, text: &'static str, value: impl Into<Param>) -> Self {
        self.params.push(value.into());
        let number = self.params.len();
        self.text.to_mut().push_str(text);
        self.text.to_mut().push('$');
        self.text.to_mut().push_str(&number.to_string());
        self
    }

    /// `head (…), (…) tail`, one group of placeholders per row.
    pub(crate) fn many<const N: usize>(
        head: &'static str,
        rows: impl IntoIterator<Item = [Param; N]>,
        tail: &'static str,
    ) -> Self {
        let mut statement = Self::new(head);
        for (number, row) in rows.into_iter().enumerate() {
            let mut before = if number == 0 { " (" } else { ", (" };
            for value in row {
                statement = statement.then_with(before, value);
                before = ", ";
            }
            statement = statement.then(")");
        }
        statement.then(tail)
    }

    /// The same statement, to be told how the database would go about it.
    #[cfg(test)]
    pub(crate) fn explained(mut self) -> Self {
        self.text.to_mut().insert_str(0, "EXPLAIN QUERY PLAN ");
        self
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value of `$number`.
    pub(super) fn param(&self, number: usize) -> Option<&Param> {
        self.params.get(number.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_groups_of_placeholders() {
        let rows = [[Param::from("a"), 1.into()], ["b".into(), 2.into()]];
        let statement = Statement::many(
            "INSERT INTO t (x, y) VALUES",
            rows,
            " ON CONFLICT DO NOTHING",
        );
        let text = "INSERT INTO t (x, y) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING";
        assert_eq!(statement.text, text);
        assert_eq!(statement.params[2], Param::from("b"));
    }

    #[test]
    fn groups_keep_the_order_and_have_few_sizes() {
        let groups = in_groups((0..150).collect());
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [64, 64, 16, 4, 2]);
        assert_eq!(groups.concat(), (0..150).collect::<Vec<i32>>());
        assert!(in_groups(Vec::<i32>::new()).is_empty());
    }
}
