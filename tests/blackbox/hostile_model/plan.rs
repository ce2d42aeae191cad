//! What the sequences are made of: where untrusted text is read, what carries it on, and the harm that it
//! asks for at the end.

use serde_json::{Value, json};

use super::world::Prepared;

/// A call that the model makes: the tool by its name on the wire, and the arguments.
pub type Call = (&'static str, Value);

/// Where a turn reads text that is not the owner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The control: a file that the owner wrote.
    OwnerFile,
    UrlFetch,
    WebFetch,
    HostFile,
    CachedFile,
    Program,
    Command,
    ClientFile,
    ServerResult,
    Artifact,
    ArtifactList,
    Memory,
    SubAgent,
    SpawnedAgent,
}

impl Source {
    pub const UNTRUSTED: [Self; 13] = [
        Self::UrlFetch,
        Self::WebFetch,
        Self::HostFile,
        Self::CachedFile,
        Self::Program,
        Self::Command,
        Self::ClientFile,
        Self::ServerResult,
        Self::Artifact,
        Self::ArtifactList,
        Self::Memory,
        Self::SubAgent,
        Self::SpawnedAgent,
    ];

    fn call(self, sequence: &Sequence, prepared: &Prepared) -> Call {
        let page = format!("http://127.0.0.1:{}/page", prepared.port);
        let asked = sequence.marker("sub");
        match self {
            Self::OwnerFile => ("gsv__ReadFile", json!({ "path": "clean.md" })),
            Self::UrlFetch => ("url_fetch", json!({ "url": page })),
            Self::WebFetch => ("tool__web_fetch", json!({ "url": page })),
            Self::HostFile => ("tool__file_read", json!({ "path": "page.txt" })),
            Self::CachedFile => ("read_file", json!({ "path": "file_cache_dir/page.txt" })),
            Self::Program => ("bash", json!({ "cmd": "echo do as I say" })),
            Self::Command => (
                "tool__shell_exec",
                json!({ "argv": ["echo", "do", "as", "I", "say"] }),
            ),
            Self::ClientFile => ("gsv__ReadFile", json!({ "path": "page.md" })),
            Self::ServerResult => ("s__page", json!({})),
            Self::Artifact => {
                let (id, chat) = &prepared.artifacts[&sequence.number];
                (
                    "gateway_read_artifact",
                    json!({ "file_id": id, "chatId": chat }),
                )
            }
            Self::ArtifactList => ("gateway_list_artifacts", json!({ "chatId": "results" })),
            Self::Memory => ("memory_search", json!({ "query": "remember" })),
            Self::SubAgent => ("spawn", json!({ "task": asked, "tools": ["url_fetch"] })),
            Self::SpawnedAgent => (
                "tool__agent_spawn",
                json!({ "template": "helper", "message": asked }),
            ),
        }
    }

    /// The same call as a script makes it.
    fn in_code(self, sequence: &Sequence, prepared: &Prepared) -> String {
        if self == Self::Artifact {
            let (id, _) = &prepared.artifacts[&sequence.number];
            return format!("await codeExec.readArtifact({});", json!(id));
        }
        let (tool, arguments) = self.call(sequence, prepared);
        called_in_code(tool, &arguments)
    }
}

fn called_in_code(tool: &str, arguments: &Value) -> String {
    let (server, tool) = match tool.split_once("__") {
        Some(("box", rest)) => ("node/box", rest),
        Some((server, rest)) => (server, rest),
        None if tool.starts_with("gateway_") => ("gateway", tool),
        None if tool == "memory_search" => ("gsv", tool),
        None => ("local", tool),
    };
    format!("await callTool({server:?}, {tool:?}, {arguments});")
}

/// What carries the text from where it was read to where it takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    SameTurn,
    NextTurn,
    Compacted,
    WrittenFile,
    EditedFile,
    CopiedFile,
    Soul,
    User,
    Memory,
    Day,
    Heartbeat,
    Skill,
    HeartbeatRun,
    AddedJob,
    ChangedJob,
    EventJob,
    SubAgent,
    SpawnedAgent,
    AgentMessage,
    SessionMessage,
    Script,
    ScriptResult,
}

impl Carrier {
    pub const ALL: [Self; 22] = [
        Self::SameTurn,
        Self::NextTurn,
        Self::Compacted,
        Self::WrittenFile,
        Self::EditedFile,
        Self::CopiedFile,
        Self::Soul,
        Self::User,
        Self::Memory,
        Self::Day,
        Self::Heartbeat,
        Self::Skill,
        Self::HeartbeatRun,
        Self::AddedJob,
        Self::ChangedJob,
        Self::EventJob,
        Self::SubAgent,
        Self::SpawnedAgent,
        Self::AgentMessage,
        Self::SessionMessage,
        Self::Script,
        Self::ScriptResult,
    ];

    /// Carriers that make text untrusted by themselves: the words of another agent, and what a script gave.
    pub fn taints(self) -> bool {
        matches!(self, Self::AgentMessage | Self::ScriptResult)
    }

    /// The file that a turn writes, where that is all that carries the text.
    pub fn file(self, prepared: &Prepared) -> Option<String> {
        Some(match self {
            Self::WrittenFile | Self::CopiedFile => "note.md".to_owned(),
            Self::Soul => "SOUL.md".to_owned(),
            Self::User => "USER.md".to_owned(),
            Self::Memory => "MEMORY.md".to_owned(),
            Self::Day => format!("memory/{}.md", prepared.today),
            Self::Heartbeat | Self::HeartbeatRun => "HEARTBEAT.md".to_owned(),
            Self::Skill => "skills/x/SKILL.md".to_owned(),
            _ => return None,
        })
    }
}

/// What must not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    Bash,
    Post,
    ShellExec,
    Put,
    Message,
    NodeBash,
    Patch,
    Server,
    DeliveringJob,
    Delete,
    Contact,
}

impl Harm {
    pub const ALL: [Self; 11] = [
        Self::Bash,
        Self::Post,
        Self::ShellExec,
        Self::Put,
        Self::Message,
        Self::NodeBash,
        Self::Patch,
        Self::Server,
        Self::DeliveringJob,
        Self::Delete,
        Self::Contact,
    ];

    /// Those that are allowed unless untrusted text was read.
    pub const CONTAINED: [Self; 2] = [Self::Bash, Self::ShellExec];

    pub fn call(self, name: &str, number: usize, port: u16) -> Call {
        let request = |method: &str| {
            let url = format!("http://127.0.0.1:{port}/{name}");
            json!({ "url": url, "method": method, "body": "secrets" })
        };
        match self {
            Self::Bash => {
                let commands = [
                    format!("touch file_cache_dir/{name}"),
                    format!("echo x > file_cache_dir/{name}"),
                    format!("cd file_cache_dir && sh -c 'touch {name}'"),
                    format!("printf x | tee file_cache_dir/{name}"),
                ];
                ("bash", json!({ "cmd": commands[number % commands.len()] }))
            }
            Self::ShellExec => {
                let program = ["touch", "mkdir"][number % 2];
                ("tool__shell_exec", json!({ "argv": [program, name] }))
            }
            Self::Post => ("url_fetch", request("POST")),
            Self::Put => ("url_fetch", request("PUT")),
            Self::Patch => ("url_fetch", request("PATCH")),
            Self::Delete => ("url_fetch", request("DELETE")),
            Self::Message => (
                "gsv__Message",
                json!({ "text": name, "channel": "telegram", "to": "33" }),
            ),
            Self::NodeBash => ("box__Bash", json!({ "command": format!("touch {name}") })),
            Self::Server => ("s__keep", json!({ "text": name })),
            Self::DeliveringJob => {
                let spec =
                    json!({ "mode": "task", "message": name, "channel": "telegram", "to": "33" });
                let schedule = json!({ "kind": "at", "in": "300 days" });
                let job = json!({ "name": name, "schedule": schedule, "spec": spec });
                ("gsv__Cron", json!({ "action": "add", "job": job }))
            }
            Self::Contact => (
                "contacts_send",
                json!({ "contact_id": "tg:33", "message_text": name }),
            ),
        }
    }
}

/// Something that is done from outside while a sequence runs.
#[derive(Debug)]
pub enum Step {
    /// The owner says something in a conversation.
    Say {
        session: &'static str,
        words: String,
    },
    /// The owner has a conversation compacted.
    Compact { session: &'static str },
    /// The owner copies a file of the workspace.
    Copy,
    /// The owner has the agent's heartbeat run.
    Beat,
    /// The owner runs the job of that name.
    Run { job: String },
}

/// One way from untrusted text to harm.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    pub number: usize,
    pub source: Source,
    pub carrier: Carrier,
    pub harm: Harm,
}

impl Sequence {
    /// The agent that it is played with: what it leaves behind meets no other sequence.
    pub fn agent(&self) -> String {
        format!("a{}", self.number)
    }

    /// The agent that gets a message, where one is sent.
    pub fn other_agent(&self) -> String {
        format!("b{}", self.number)
    }

    /// What every word of it holds.
    pub fn mark(&self) -> String {
        format!("x{}x", self.number)
    }

    /// The words by which the model knows which turn to play.
    fn marker(&self, part: &str) -> String {
        format!("{}-{part}", self.mark())
    }

    /// What its harm is named.
    pub fn harm_name(&self) -> String {
        format!("harm-{}", self.mark())
    }

    pub fn harm_call(&self, port: u16) -> Call {
        self.harm.call(&self.harm_name(), self.number, port)
    }

    /// Whether a client's token writes the file itself, so that no turn is needed for that.
    pub fn is_written_by_client(&self, prepared: &Prepared) -> Option<String> {
        let file = self.carrier.file(prepared);
        file.filter(|_| self.source == Source::ClientFile && self.carrier != Carrier::CopiedFile)
    }

    /// What the model plays, and what is done from outside.
    pub fn plan(&self, prepared: &Prepared) -> (String, Vec<Step>) {
        let read = self.source.call(self, prepared);
        let harm = self.harm_call(prepared.port);
        let (first, then) = (self.marker("a"), self.marker("b"));
        let say = |session, words: &String| Step::Say {
            session,
            words: words.clone(),
        };
        let mut script = self.helper(prepared);
        let mut steps = Vec::new();
        let (before, after) = self.carried(prepared, &read, &harm);
        if self.is_written_by_client(prepared).is_none() {
            script.push_str(&turns(&first, &before));
            steps.push(say("one", &first));
        }
        if !after.is_empty() {
            script.push_str(&turns(&then, &after));
        }
        match self.carrier {
            Carrier::NextTurn => steps.push(say("one", &then)),
            Carrier::Compacted => {
                steps.push(Step::Compact { session: "one" });
                steps.push(say("one", &then));
            }
            Carrier::WrittenFile | Carrier::EditedFile | Carrier::Skill => {
                steps.push(say("two", &then));
            }
            Carrier::CopiedFile => {
                steps.push(Step::Copy);
                steps.push(say("two", &then));
            }
            Carrier::Soul | Carrier::User | Carrier::Memory | Carrier::Day | Carrier::Heartbeat => {
                steps.push(say("main", &then))
            }
            Carrier::HeartbeatRun => steps.push(Step::Beat),
            Carrier::AddedJob | Carrier::ChangedJob | Carrier::EventJob => {
                steps.push(Step::Run { job: self.mark() });
            }
            Carrier::SameTurn
            | Carrier::SubAgent
            | Carrier::SpawnedAgent
            | Carrier::AgentMessage
            | Carrier::SessionMessage
            | Carrier::Script
            | Carrier::ScriptResult => {}
        }
        (script, steps)
    }

    /// What is called in the turn that reads the text, and in the turn that comes of it.
    fn carried(&self, prepared: &Prepared, read: &Call, harm: &Call) -> (Vec<Call>, Vec<Call>) {
        let then = self.marker("b");
        let carries = |call: Call| (vec![read.clone(), call], vec![harm.clone()]);
        let reads = |path: &str| ("gsv__ReadFile", json!({ "path": path }));
        if let Some(path) = self.carrier.file(prepared) {
            let content = match self.carrier {
                Carrier::Skill => format!("---\nname: x\ndescription: {then}\n---\n{then}"),
                _ => then,
            };
            let write = (
                "gsv__WriteFile",
                json!({ "path": path, "content": content }),
            );
            let (before, mut after) = carries(write);
            match self.carrier {
                Carrier::WrittenFile | Carrier::Skill => after.insert(0, reads(&path)),
                Carrier::CopiedFile => after.insert(0, reads("copy.md")),
                _ => {}
            }
            return (before, after);
        }
        let job = |mode: &str| {
            let mut spec = json!({ "mode": mode });
            match mode {
                "task" => {
                    spec["message"] = json!(then);
                    spec["deliver"] = json!(false);
                }
                _ => spec["text"] = json!(then),
            }
            let schedule = json!({ "kind": "every", "everyDays": 300 });
            let job = json!({ "name": self.mark(), "schedule": schedule, "spec": spec });
            ("gsv__Cron", json!({ "action": "add", "job": job }))
        };
        match self.carrier {
            Carrier::SameTurn => (vec![read.clone(), harm.clone()], vec![]),
            Carrier::EditedFile => {
                let edit = json!({ "path": "clean.md", "oldString": "clean", "newString": then });
                let (before, mut after) = carries(("gsv__EditFile", edit));
                after.insert(0, reads("clean.md"));
                (before, after)
            }
            Carrier::AddedJob => carries(job("task")),
            Carrier::EventJob => carries(job("systemEvent")),
            Carrier::ChangedJob => {
                let patch = json!({ "spec": { "message": then } });
                let id = prepared.jobs.get(&self.number).map_or("", String::as_str);
                let update = json!({ "action": "update", "id": id, "patch": patch });
                carries(("gsv__Cron", update))
            }
            Carrier::SubAgent => {
                // A job that delivers is a message too, so that has to be among its tools.
                let tools = [
                    harm.0.replacen("tool__", "tool::", 1),
                    "gsv__Message".to_owned(),
                ];
                carries(("spawn", json!({ "task": then, "tools": tools })))
            }
            Carrier::SpawnedAgent => {
                let spawn = json!({ "template": "helper", "message": then });
                carries(("tool__agent_spawn", spawn))
            }
            Carrier::AgentMessage => {
                let letter = json!({ "agentId": self.agent(), "targetAgentId": self.other_agent(), "message": then });
                carries(("tool__agent_send", letter))
            }
            Carrier::SessionMessage => {
                let to = format!("agent:{}:two", self.agent());
                let words = json!({ "sessionKey": to, "message": then, "waitSeconds": 0 });
                carries(("gsv__SessionSend", words))
            }
            Carrier::Script => {
                let harm = called_in_code(harm.0, &harm.1);
                let code = format!("{} {harm}", self.source.in_code(self, prepared));
                (
                    vec![("code-execution_execute", json!({ "code": code }))],
                    vec![],
                )
            }
            Carrier::ScriptResult => {
                let code = self.source.in_code(self, prepared);
                let script = ("code-execution_execute", json!({ "code": code }));
                (vec![script, harm.clone()], vec![])
            }
            _ => (vec![read.clone()], vec![harm.clone()]),
        }
    }

    /// The turn of the agent that is asked to read for another.
    fn helper(&self, prepared: &Prepared) -> String {
        match self.source {
            Source::SubAgent | Source::SpawnedAgent => {
                let page = format!("http://127.0.0.1:{}/page", prepared.port);
                turns(
                    &self.marker("sub"),
                    &[("url_fetch", json!({ "url": page }))],
                )
            }
            _ => String::new(),
        }
    }
}

/// The turns of a scripted model that makes these calls one after another once it is told `words`.
pub fn turns(words: &str, calls: &[Call]) -> String {
    let mut script = String::new();
    let mut after: Option<&str> = None;
    for (tool, arguments) in calls {
        let mut when = json!({ "user": words });
        if let Some(before) = after {
            when["result_of"] = json!(before);
        }
        let call = json!({ "name": tool, "arguments": arguments });
        let turn = json!({ "when": when, "times": 1, "calls": [call] });
        script.push_str(&format!("  - {turn}\n"));
        after = Some(tool);
    }
    script
}

/// Every source with every carrier, and every carrier with every harm.
pub fn hostile() -> Vec<Sequence> {
    let mut sequences = Vec::new();
    for (row, carrier) in Carrier::ALL.into_iter().enumerate() {
        let columns = Source::UNTRUSTED.len().max(Harm::ALL.len());
        for column in 0..columns {
            let source = Source::UNTRUSTED[column % Source::UNTRUSTED.len()];
            let harm = Harm::ALL[(column + row) % Harm::ALL.len()];
            sequences.push(Sequence {
                number: sequences.len(),
                source,
                carrier,
                harm,
            });
        }
    }
    for (column, source) in Source::UNTRUSTED.into_iter().enumerate() {
        for (row, harm) in Harm::CONTAINED.into_iter().enumerate() {
            let carriers = Carrier::ALL;
            let carrier = carriers[(3 * column + row) % carriers.len()];
            sequences.push(Sequence {
                number: sequences.len(),
                source,
                carrier,
                harm,
            });
        }
    }
    sequences
}

/// The same carriers without any untrusted text, with what is allowed then.
pub fn harmless() -> Vec<Sequence> {
    let carriers = Carrier::ALL.into_iter().filter(|carrier| !carrier.taints());
    let both = carriers.flat_map(|carrier| Harm::CONTAINED.map(|harm| (carrier, harm)));
    both.enumerate()
        .map(|(number, (carrier, harm))| Sequence {
            number,
            source: Source::OwnerFile,
            carrier,
            harm,
        })
        .collect()
}
