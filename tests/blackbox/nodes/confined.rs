//! How far the hands of a machine reach is its owner's to say, and nobody else's.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually};
use crate::nodes::fixture::{Machine, Plan, tools_of};
use crate::nodes::player::greeting;

/// A gateway, and a secret beside what is lent.
struct Desk {
    gateway: Gateway,
    secret: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let gateway = Gateway::start();
        let folder = gateway.home.outside("private");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("secret.txt"), "canary-4711").expect("a secret");
        let secret = folder.canonicalize().expect("a folder").join("secret.txt");
        Self { gateway, secret }
    }

    fn lend(&self, name: &str, flags: &[&str]) -> Machine {
        Plan::new(&self.gateway, name)
            .with(flags)
            .lend(&self.gateway)
    }

    /// That a command does not get at the secret, nor write beside it, nor reach the network.
    fn check_bash(&self, machine: &Machine) {
        let (secret, beside) = (self.secret.display(), self.secret.with_file_name("planted"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        for command in [
            format!("cat {secret}"),
            format!("cat /proc/1/root{secret}"),
            format!("ln {secret} stolen && cat stolen"),
            format!("ln -s {secret} link; cat link"),
            format!("echo x > {}", beside.display()),
            format!("echo x >> {secret}"),
            format!("chmod 777 {secret}"),
            format!("rm {secret}"),
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"),
        ] {
            let result = machine.bash(&self.gateway, &command);
            assert_eq!(result["status"], "failed", "{command}: {result}");
            assert!(
                !result.to_string().contains("canary-4711"),
                "{command}: {result}"
            );
        }
        listener.set_nonblocking(true).expect("no waiting");
        assert!(listener.accept().is_err(), "it was reached");
        assert!(!beside.exists());
        assert_eq!(fs::read_to_string(&self.secret).expect("it"), "canary-4711");
    }

    /// That the file tools stay inside.
    fn check_files(&self, machine: &Machine) {
        let secret = self.secret.to_str().expect("a path");
        let folder = self
            .secret
            .parent()
            .and_then(|folder| folder.to_str())
            .expect("a path");
        let relative = "../private/secret.txt";
        std::os::unix::fs::symlink(folder, machine.file("way-out")).expect("a link");
        for (tool, arguments) in [
            ("Read", json!({ "path": secret })),
            ("Read", json!({ "path": relative })),
            ("Read", json!({ "path": "way-out/secret.txt" })),
            ("Grep", json!({ "pattern": "canary", "path": folder })),
            ("Grep", json!({ "pattern": "canary", "path": "way-out" })),
            (
                "Grep",
                json!({ "pattern": "canary", "path": "..", "followLinks": true }),
            ),
            ("Glob", json!({ "pattern": "*", "path": folder })),
            ("Write", json!({ "path": secret, "content": "x" })),
            (
                "Write",
                json!({ "path": "way-out/planted", "content": "x" }),
            ),
            ("Write", json!({ "path": "../planted", "content": "x" })),
            (
                "Edit",
                json!({ "path": secret, "oldString": "canary", "newString": "x" }),
            ),
            ("Bash", json!({ "command": "cat *", "workdir": folder })),
        ] {
            let said = machine.call(&self.gateway, tool, arguments.clone());
            let leaked = said["result"].to_string().contains("canary");
            let refused = said["ok"] == false || said["result"]["status"] == "failed";
            assert!(refused && !leaked, "{tool} {arguments}: {said}");
        }
        assert_eq!(fs::read_to_string(&self.secret).expect("it"), "canary-4711");
        assert_eq!(fs::read_dir(folder).expect("a folder").count(), 1);
    }
}

#[test]
fn without_flags_a_machine_reaches_what_its_user_does() {
    let desk = Desk::new();
    let laptop = desk.lend("laptop", &[]);
    let read = laptop.call(&desk.gateway, "Read", json!({ "path": desk.secret }));
    assert_eq!(
        read["result"]["content"], "1\tcanary-4711",
        "the control of the tests here"
    );
    let cat = laptop.bash(&desk.gateway, &format!("cat {}", desk.secret.display()));
    assert_eq!(cat["output"], "canary-4711");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    assert_eq!(laptop.bash(&desk.gateway, &reach)["output"], "reached\n");
}

#[test]
fn a_sandboxed_machine_changes_its_workspace_and_nothing_else() {
    let desk = Desk::new();
    let laptop = desk.lend("laptop", &["--sandbox", "workspace"]);
    desk.check_bash(&laptop);
    desk.check_files(&laptop);
    let result = laptop.bash(&desk.gateway, "echo mine > own.txt && cat own.txt");
    assert_eq!(result["output"], "mine\n", "{result}");
    let write = json!({ "path": "tool.txt", "content": "x" });
    assert_eq!(laptop.call(&desk.gateway, "Write", write)["ok"], true);
}

#[test]
fn a_jailed_machine_does_not_leave_the_folder_around_its_workspace() {
    let desk = Desk::new();
    let around = desk.gateway.home.outside("jail");
    fs::create_dir_all(around.join("work")).expect("folders");
    fs::write(around.join("shared.txt"), "shared").expect("a file");
    let around = around.canonicalize().expect("a folder");
    let laptop = Plan::new(&desk.gateway, "laptop")
        .in_folder(&around.join("work"))
        .with(&["--jail", around.to_str().expect("a path")])
        .lend(&desk.gateway);
    desk.check_bash(&laptop);
    let read = laptop.call(
        &desk.gateway,
        "Read",
        json!({ "path": around.join("shared.txt") }),
    );
    assert_eq!(read["result"]["content"], "1\tshared", "{read}");
    assert_eq!(
        laptop.bash(&desk.gateway, "cat ../shared.txt")["output"],
        "shared"
    );
    let secret = desk.secret.to_str().expect("a path");
    for (tool, arguments) in [
        ("Read", json!({ "path": secret })),
        ("Write", json!({ "path": "../../planted", "content": "x" })),
    ] {
        let said = laptop.call(&desk.gateway, tool, arguments);
        assert_eq!(said["ok"], false, "{tool}: {said}");
    }
    assert!(!desk.gateway.home.outside("planted").exists());
}

#[test]
fn a_read_only_machine_offers_nothing_that_writes() {
    let desk = Desk::new();
    let laptop = desk.lend("laptop", &["--sandbox", "read-only"]);
    fs::write(laptop.file("own.txt"), "own").expect("a file");
    let mut offered = tools_of(&desk.gateway, "laptop");
    offered.sort();
    let expect = [
        "laptop__Bash",
        "laptop__Glob",
        "laptop__Grep",
        "laptop__Process",
        "laptop__Read",
    ];
    assert_eq!(offered, expect);
    desk.check_bash(&laptop);
    let result = laptop.bash(
        &desk.gateway,
        "cat own.txt; echo x > new.txt || echo x >> own.txt || rm own.txt",
    );
    assert_eq!(
        (
            &result["status"],
            result["output"]
                .as_str()
                .map(|text| text.starts_with("own"))
        ),
        (&json!("failed"), Some(true)),
        "{result}"
    );
    assert_eq!(
        fs::read_to_string(laptop.file("own.txt")).expect("it"),
        "own"
    );
    assert!(!laptop.file("new.txt").exists());
    let record = crate::nodes::fixture::on_record(&desk.gateway, "laptop").expect("a record");
    let capabilities = record["hostCapabilities"].to_string();
    assert!(
        !capabilities.contains("filesystem.write") && !capabilities.contains("filesystem.edit"),
        "{record}"
    );
    let said = laptop.call(
        &desk.gateway,
        "Write",
        json!({ "path": "new.txt", "content": "x" }),
    );
    assert_eq!(said["code"], "unknown_tool", "{said}");
}

#[test]
fn no_command_sees_the_nodes_own_variables() {
    let desk = Desk::new();
    for (name, flags) in [("open", &[][..]), ("closed", &["--sandbox", "workspace"])] {
        let plan = Plan::new(&desk.gateway, name).with(flags);
        let plan = plan
            .env("MANYHANDS_PASSPHRASE", "canary-4711")
            .env("MINE", "kept");
        let machine = plan.lend(&desk.gateway);
        let env = machine.bash(
            &desk.gateway,
            "env; cat /proc/self/environ | tr '\\0' '\\n'",
        );
        let env = env["output"].as_str().expect("text").to_owned();
        assert!(env.contains("MINE=kept"), "{name}: {env}");
        assert!(
            !env.contains("MANYHANDS_") && !env.contains("canary-4711"),
            "{name}: {env}"
        );
    }
}

#[test]
fn the_gateway_cannot_widen_what_a_machine_shares() {
    let desk = Desk::new();
    let laptop = desk.lend("laptop", &["--sandbox", "workspace"]);
    for more in ["sandbox", "jail", "workspace", "env"] {
        let mut arguments = json!({ "command": format!("cat {}", desk.secret.display()) });
        arguments[more] = json!("off");
        let said = laptop.call(&desk.gateway, "Bash", arguments);
        assert_eq!(said["problems"][0]["parameter"], more, "{said}");
    }
    let mut socket = desk.gateway.ws();
    let set = json!({ "path": "node.sandbox", "value": "off" });
    let said = socket.request("config.set", set);
    assert_eq!(
        said["ok"], false,
        "a key of this machine is set in the file: {said}"
    );
    desk.check_bash(&laptop);
}

/// A gateway as `manyhands up` starts it.
fn up(config: &str) -> Gateway {
    let home = Home::new().with_config(config);
    let mut command = home.command();
    command.args(["up", "--listen", "127.0.0.1:0"]);
    Gateway::from(home, command)
}

/// One that lends its own machine, and that machine's name.
fn own() -> (Gateway, String) {
    let gateway = up("[node]\nid = \"own\"\n");
    eventually("its own node", || !tools_of(&gateway, "own").is_empty());
    (gateway, "own".to_owned())
}

#[test]
fn the_gateways_machine_is_shared_without_the_gateways_files() {
    let (gateway, own) = own();
    let home = gateway.home.path();
    let bash = |command: &str| gateway.call(&format!("{own}__Bash"), json!({ "command": command }));
    let said = bash("echo mine > own.txt; cat own.txt; pwd");
    let workspace = home
        .join("host/workspace")
        .canonicalize()
        .expect("a folder");
    assert_eq!(
        said["result"]["output"],
        format!("mine\n{}\n", workspace.display()),
        "{said}"
    );
    for file in [
        "owner.token",
        "vault.key",
        "manyhands.db",
        "config.toml",
        "gateway.lock",
    ] {
        let path = home.join(file);
        assert!(path.exists(), "{file}");
        let said = bash(&format!("cat {}", path.display()));
        assert_eq!(said["result"]["status"], "failed", "{file}: {said}");
        assert!(!said.to_string().contains(&gateway.owner), "{file}");
        let said = gateway.call(&format!("{own}__Read"), json!({ "path": path }));
        assert_eq!(said["ok"], false, "{file}: {said}");
        let ends =
            json!({ "source": format!("{own}:{}", path.display()), "destination": "gsv:stolen" });
        let said = gateway.call("gsv__Transfer", ends);
        assert_eq!(said["ok"], false, "{file}: {said}");
    }
    assert_eq!(gateway.read("stolen"), None);
    let environment = bash("env")["result"]["output"].clone();
    assert!(
        !environment.to_string().contains("MANYHANDS_"),
        "{environment}"
    );
    let said = bash(&format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}",
        gateway.addr.port()
    ));
    assert_eq!(
        said["result"]["status"], "failed",
        "it does not reach the gateway: {said}"
    );
}

#[test]
fn the_gateways_own_machine_is_a_node_like_any_other_and_can_be_left_out() {
    let (gateway, own) = own();
    let record = crate::nodes::fixture::on_record(&gateway, &own).expect("a record");
    assert_eq!(record["online"], true, "{record}");
    assert_eq!(tools_of(&gateway, &own).len(), 7);
    let log = gateway.call("gsv__LogsGet", json!({}));
    assert_eq!(log["result"]["nodeId"], "own", "{log}");
    let taken =
        crate::nodes::player::Player::greet(gateway.addr, greeting("own", &gateway.client("x")));
    assert!(taken.is_err(), "a client does not take its place");
    let without = Gateway::start();
    let nodes = without.get("/api/nodes").json();
    assert_eq!(nodes["result"]["count"], 0, "--no-node: {nodes}");
    let off = up("[node]\nenabled = false\n");
    let nodes: Value = off.get("/api/nodes").json();
    assert_eq!(nodes["result"]["count"], 0, "node.enabled = false: {nodes}");
}
