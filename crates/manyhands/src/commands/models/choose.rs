//! Lets the user choose one of a provider's models: by number, or by searching.

use manyhands_terminal::editor::Question;
use manyhands_terminal::output;

/// How many models are shown at once.
const SHOWN: usize = 20;

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
enum Choice<'m> {
    /// This model.
    Model(&'m str),
    /// Only these are shown next.
    Narrowed(Vec<&'m str>),
    /// No model has this in its name.
    Nothing,
}

/// Asks until a model is chosen; `None` if the user gives up.
pub async fn model(models: &[String]) -> Option<String> {
    let all: Vec<&str> = models.iter().map(String::as_str).collect();
    let mut shown = all.clone();
    loop {
        for (number, model) in shown.iter().take(SHOWN).enumerate() {
            output::print_note(format!("{:>4}  {model}", number + 1));
        }
        if shown.len() > SHOWN {
            output::print_note(format!("      and {} more", shown.len() - SHOWN));
        }
        output::print_prompt("Model (a number, or text to search; empty cancels): ");
        let answer = Question::start().answer().await?;
        let answer = answer.trim();
        if answer.is_empty() {
            return None;
        }
        match chosen(&all, &shown, answer) {
            Choice::Model(model) => return Some(model.to_owned()),
            Choice::Narrowed(found) => shown = found,
            Choice::Nothing => {
                output::print_note(format!("no model has {answer:?} in its name"));
                shown = all.clone();
            }
        }
    }
}

fn chosen<'m>(all: &[&'m str], shown: &[&'m str], answer: &str) -> Choice<'m> {
    if let Some(exact) = all.iter().find(|model| **model == answer) {
        return Choice::Model(exact);
    }
    if let Ok(number) = answer.parse::<usize>()
        && let Some(model) = number.checked_sub(1).and_then(|at| shown.get(at))
    {
        return Choice::Model(model);
    }
    let words: Vec<String> = answer.split_whitespace().map(str::to_lowercase).collect();
    let fits = |model: &&&str| {
        let model = model.to_lowercase();
        words.iter().all(|word| model.contains(word))
    };
    let found: Vec<&str> = all.iter().filter(fits).copied().collect();
    match found.as_slice() {
        [] => Choice::Nothing,
        _ => Choice::Narrowed(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_chosen_by_number_name_or_search() {
        let all = ["qwen3-4b", "qwen3-30b", "Llama-4", "7"];
        let shown = ["qwen3-30b", "Llama-4"];
        for (answer, choice) in [
            ("2", Choice::Model("Llama-4")),
            ("qwen3-4b", Choice::Model("qwen3-4b")),
            ("7", Choice::Model("7")),
            ("QWEN 4", Choice::Narrowed(vec!["qwen3-4b"])),
            ("llama", Choice::Narrowed(vec!["Llama-4"])),
            ("0", Choice::Narrowed(vec!["qwen3-30b"])),
            ("mistral", Choice::Nothing),
        ] {
            assert_eq!(chosen(&all, &shown, answer), choice, "{answer}");
        }
    }
}
