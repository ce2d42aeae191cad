//! Others that stand before MCP servers, from the registries, where those can be had.

use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FASTMCP: &str = "fastmcp==4.1.2";
const MCP_PROXY: &str = "0.6.0";

/// One that runs.
pub struct Peer {
    pub name: &'static str,
    pub host: String,
    pub path: &'static str,
    /// What the tool is called there.
    pub tool: &'static str,
    child: Child,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// FastMCP as a proxy.
    pub fn fastmcp(echo: &str) -> Result<Self, Box<dyn Error>> {
        let folder = folder("fastmcp")?;
        let python = folder.join("venv/bin/python");
        if !python.exists() {
            run(Command::new("python3")
                .args(["-m", "venv"])
                .arg(folder.join("venv")))?;
        }
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", FASTMCP]))?;
        let port = free_port()?;
        let script = format!(
            "from fastmcp.server import create_proxy\ncreate_proxy('http://{echo}/mcp', name='bench').run(transport='http', host='127.0.0.1', port={port}, path='/mcp', show_banner=False, log_level='error')\n"
        );
        let child = Command::new(&python)
            .args(["-c", &script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let peer = Self {
            name: "FastMCP proxy",
            host: format!("127.0.0.1:{port}"),
            path: "/mcp",
            tool: "echo",
            child,
        };
        peer.listens()?;
        Ok(peer)
    }

    /// The crate `mcp-proxy`.
    pub fn mcp_proxy(echo: &str) -> Result<Self, Box<dyn Error>> {
        let folder = folder("mcp-proxy")?;
        let program = folder.join("bin/mcp-proxy");
        if !program.exists() {
            run(Command::new("cargo")
                .args([
                    "install",
                    "--locked",
                    "--quiet",
                    "--no-default-features",
                    "--version",
                    MCP_PROXY,
                    "--root",
                ])
                .arg(&folder)
                .arg("mcp-proxy"))?;
        }
        let port = free_port()?;
        let config = folder.join("proxy.toml");
        let text = format!(
            "[proxy]\nname = \"bench\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n[[backends]]\nname = \"echo\"\ntransport = \"http\"\nurl = \"http://{echo}/mcp\"\n"
        );
        std::fs::write(&config, text)?;
        let child = Command::new(&program)
            .arg("--config")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let peer = Self {
            name: "mcp-proxy",
            host: format!("127.0.0.1:{port}"),
            path: "/mcp",
            tool: "echo/echo",
            child,
        };
        peer.listens()?;
        Ok(peer)
    }

    fn listens(&self) -> Result<(), Box<dyn Error>> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if TcpStream::connect(&self.host).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{} did not come up; it is left out", self.name).into())
    }
}

/// Where peers are installed: beside the build.
fn folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).ok_or("no build folder")?;
    let folder = target.join("bench-peers").join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let ended = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    match ended.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let last = said.lines().last().unwrap_or_default();
            let program = command.get_program().display().to_string();
            Err(format!("left out, for {program} failed: {last}").into())
        }
    }
}
