//! The worker started by the tests of this crate, like the product's `manyhands script-worker`. With `probe` it confines
//! itself and prints what it can still do.
#![allow(clippy::print_stdout)] // it answers on standard output

fn main() {
    if std::env::args().nth(1).as_deref() == Some("probe") {
        probe();
        return;
    }
    manyhands_script::worker::serve(std::io::stdin(), std::io::stdout());
}

#[allow(clippy::disallowed_methods)] // to see that starting a program is refused
fn probe() {
    let confined = std::env::args().nth(2).as_deref() == Some("confined");
    let parent = rustix::process::getppid().expect("a parent");
    if confined {
        manyhands_script::worker::shut_in().expect("shut in");
    }
    let tries = [
        ("read", std::fs::read("/etc/passwd").is_ok()),
        ("list", std::fs::read_dir("/").is_ok()),
        ("write", std::fs::write("/dev/null", "x").is_ok()),
        ("stat", std::fs::metadata("/").is_ok()),
        ("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok()),
        ("send", std::net::UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("unix", std::os::unix::net::UnixDatagram::unbound().is_ok()),
        (
            "run",
            std::process::Command::new("/bin/true").status().is_ok(),
        ),
        ("thread", std::thread::Builder::new().spawn(|| ()).is_ok()),
        (
            "signal",
            rustix::process::kill_process(parent, rustix::process::Signal::WINCH).is_ok(),
        ),
    ];
    for (what, could) in tries {
        if could {
            println!("{what}");
        }
    }
    let variables = std::env::vars_os().count();
    println!("variables {variables}");
}
