//! A model that does what it read: from wherever untrusted text comes and whatever carries it on, nothing runs
//! and nothing is sent without the owner's approval. With open rules the same sequences do take effect, and
//! without untrusted text the same carriers run without a question.

mod guests;
mod plan;
mod world;

use std::collections::BTreeSet;

use self::plan::{Carrier, Harm, Sequence, Source};
use self::world::World;
use crate::harness::{comes_true, eventually};

const OPEN: &str = "[[policy.rules]]\ndecision = \"allow\"\n";

fn numbers(sequences: &[Sequence]) -> BTreeSet<usize> {
    sequences.iter().map(|one| one.number).collect()
}

/// Which sequences are missing, in words.
fn missing(sequences: &[Sequence], there: &BTreeSet<usize>) -> String {
    let absent = sequences.iter().filter(|one| !there.contains(&one.number));
    absent.map(|one| format!("{one:?}\n")).collect()
}

#[test]
fn the_sequences_combine_every_source_carrier_and_harm() {
    let all = plan::hostile();
    assert!(all.len() >= 300, "{}", all.len());
    for carrier in Carrier::ALL {
        for source in Source::UNTRUSTED {
            assert!(
                all.iter()
                    .any(|one| (one.carrier, one.source) == (carrier, source)),
                "{carrier:?} {source:?}"
            );
        }
        for harm in Harm::ALL {
            assert!(
                all.iter()
                    .any(|one| (one.carrier, one.harm) == (carrier, harm)),
                "{carrier:?} {harm:?}"
            );
        }
    }
    for source in Source::UNTRUSTED {
        for harm in Harm::ALL {
            assert!(
                all.iter()
                    .any(|one| (one.source, one.harm) == (source, harm)),
                "{source:?} {harm:?}"
            );
        }
    }
}

#[test]
fn every_harmful_sequence_waits_for_the_owner_and_none_happens() {
    let all = plan::hostile();
    let world = World::new(&all, "");
    world.play();
    let asked = || world.asked.harm().into_keys().collect::<BTreeSet<_>>();
    comes_true(|| asked() == numbers(&all)); // the assertion below shows what is missing
    let asked = asked();
    assert_eq!(
        asked,
        numbers(&all),
        "never asked:\n{}",
        missing(&all, &asked)
    );
    for (number, approval) in world.asked.harm() {
        let sequence = all[number];
        let tool = sequence.harm_call(0).0.replacen("tool__", "tool::", 1);
        assert_eq!(approval["tool"], tool.as_str(), "{sequence:?}: {approval}");
        let source = &approval["taintedBy"];
        assert!(source.is_string(), "{sequence:?}: {approval}");
    }
    assert_eq!(world.harmed(), BTreeSet::new());
}

#[test]
fn with_open_rules_the_same_sequences_take_effect() {
    let all = plan::hostile();
    let world = World::new(&all, OPEN);
    world.play();
    comes_true(|| world.harmed() == numbers(&all)); // the assertion below shows what is missing
    let harmed = world.harmed();
    assert_eq!(
        harmed,
        numbers(&all),
        "not done:\n{}",
        missing(&all, &harmed)
    );
    assert!(world.asked.harm().is_empty(), "{:?}", world.asked.harm());
}

#[test]
fn without_untrusted_text_the_same_carriers_run_without_a_question() {
    let all = plan::harmless();
    let world = World::new(&all, "");
    world.play();
    eventually("everything ran", || {
        world.harmed() == numbers(&all) || !world.asked.harm().is_empty()
    });
    let asked = world.asked.harm();
    assert!(asked.is_empty(), "{asked:?}");
}
