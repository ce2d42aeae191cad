import { beforeEach, describe, expect, it } from 'vitest';
import { Backoff } from '../src/lib/backoff';
import { CallError, Socket, type State, type World } from '../src/lib/socket';

/** A world in which time passes when it is told to. */
class Fake implements World {
  wires: { sent: { id: string; method: string; params: unknown }[]; onopen: (() => void) | null; onmessage: ((m: { data: unknown }) => void) | null; onclose: ((e: { code: number }) => void) | null; onerror: null; closed: boolean }[] = [];
  now = 0;
  timers: { at: number; then: () => void; off: boolean }[] = [];
  ids = 0;
  shown: string | null = null;
  token = () => this.shown;
  random = () => 0.5;
  id = () => String((this.ids += 1));
  later = (then: () => void, ms: number) => {
    const timer = { at: this.now + ms, then, off: false };
    this.timers.push(timer);
    return () => (timer.off = true);
  };
  open = () => {
    const wire = {
      sent: [] as { id: string; method: string; params: unknown }[],
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      closed: false,
      send: (text: string) => void wire.sent.push(JSON.parse(text) as { id: string; method: string; params: unknown }),
      close: () => void (wire.closed = true),
    };
    this.wires.push(wire as never);
    return wire as never;
  };
  get wire() {
    const last = this.wires.at(-1);
    if (!last) throw new Error('nothing was opened');
    return last;
  }
  pass(ms: number) {
    this.now += ms;
    for (const timer of this.timers.filter((one) => one.at <= this.now && !one.off)) {
      timer.off = true;
      timer.then();
    }
  }
  answer(payload: unknown, id = this.wire.sent.at(-1)?.id) {
    this.wire.onmessage?.({ data: JSON.stringify({ type: 'res', id, ok: true, payload }) });
  }
  refuse(code: number, id = this.wire.sent.at(-1)?.id) {
    this.wire.onmessage?.({ data: JSON.stringify({ type: 'res', id, ok: false, error: { code, message: 'no' } }) });
  }
}

const settled = () => new Promise((done) => setTimeout(done, 0));

describe('waits between attempts', () => {
  it('double up to the most, and are never all the same', () => {
    const low = new Backoff(100, 1_000, () => 0);
    const high = new Backoff(100, 1_000, () => 1);
    expect([1, 2, 3, 4, 5, 6].map(() => low.next())).toEqual([50, 100, 200, 400, 500, 500]);
    expect([1, 2, 3, 4, 5, 6].map(() => high.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    high.reset();
    expect(high.next()).toBe(100);
  });
});

describe('the socket', () => {
  let world: Fake;
  let states: State[];
  let socket: Socket;
  const connected = async () => {
    socket.start();
    world.wire.onopen?.();
    world.answer({ type: 'hello-ok' });
    await settled();
  };
  beforeEach(() => {
    world = new Fake();
    states = [];
    socket = new Socket((state) => states.push(state), world);
  });

  it('shows the token of the session as it is when it connects', async () => {
    const connects = () => world.wires.flatMap((wire) => wire.sent).filter((frame) => frame.method === 'connect').map((frame) => (frame.params as { auth?: unknown }).auth);
    await connected();
    expect(connects()).toEqual([undefined]);
    world.shown = 'mine';
    world.wire.onclose?.({ code: 1006 });
    world.pass(60_000);
    world.wire.onopen?.();
    expect(connects()).toEqual([undefined, { token: 'mine' }]);
  });
  it('greets first and is open once it was greeted', async () => {
    socket.start();
    world.wire.onopen?.();
    expect(world.wire.sent[0]).toMatchObject({ method: 'connect', params: { client: { mode: 'client' }, minProtocol: 1, maxProtocol: 1 } });
    expect(states).toEqual(['connecting']);
    await expect(socket.call('nodes.list', {})).rejects.toMatchObject({ code: 503, retryable: true });
    world.answer({});
    await settled();
    expect(socket.state).toBe('open');
  });

  it('gives answers to whoever asked, in whatever order they come', async () => {
    await connected();
    const [one, other] = [socket.call('nodes.list', {}), socket.call('sessions.list', {})];
    const [first, second] = world.wire.sent.slice(-2).map((sent) => sent.id);
    world.answer({ count: 2 }, second);
    world.answer({ count: 1 }, first);
    expect(await one).toEqual({ count: 1 });
    expect(await other).toEqual({ count: 2 });
  });

  it('tells refusals with their codes, and late ones as late', async () => {
    await connected();
    const refused = socket.call('nodes.list', {});
    world.refuse(403);
    await expect(refused).rejects.toMatchObject({ code: 403 });
    const late = socket.call('nodes.list', {}, 1_000);
    world.pass(1_000);
    await expect(late).rejects.toMatchObject({ code: 504 });
  });

  it('fails what waits when the connection goes, comes back after a wait, and waits longer each time', async () => {
    await connected();
    const lost = socket.call('nodes.list', {});
    world.wire.onclose?.({ code: 1006 });
    await expect(lost).rejects.toBeInstanceOf(CallError);
    expect(socket.state).toBe('waiting');
    const waits: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      const opened = world.wires.length;
      let waited = 0;
      while (world.wires.length === opened) {
        world.pass(25);
        waited += 25;
        expect(waited).toBeLessThan(20_000);
      }
      waits.push(waited);
      world.wire.onclose?.({ code: 1006 });
    }
    expect(waits).toEqual([225, 450, 900, 1_800]);
    world.pass(20_000);
    world.wire.onopen?.();
    world.answer({});
    await settled();
    expect(socket.state).toBe('open');
    world.wire.onclose?.({ code: 1006 });
    const opened = world.wires.length;
    world.pass(225);
    expect(world.wires.length).toBe(opened + 1);
  });

  it('does not wait when it is told that the network is back', async () => {
    await connected();
    world.wire.onclose?.({ code: 1006 });
    const opened = world.wires.length;
    socket.hurry();
    expect(world.wires.length).toBe(opened + 1);
    socket.hurry();
    expect(world.wires.length).toBe(opened + 1);
  });

  it('tries soon again after a network that came back took a moment to work', async () => {
    await connected();
    for (let failures = 0; failures < 10; failures += 1) {
      world.wire.onclose?.({ code: 1006 });
      world.pass(5_000);
    }
    socket.hurry();
    world.wire.onclose?.({ code: 1006 });
    const opened = world.wires.length;
    world.pass(300);
    expect(world.wires.length).toBe(opened + 1);
  });

  it('does not knock again when it was not let in', async () => {
    socket.start();
    world.wire.onopen?.();
    world.refuse(401);
    await settled();
    expect(socket.state).toBe('refused');
    world.pass(600_000);
    expect(world.wires.length).toBe(1);
    socket.start();
    expect(world.wires.length).toBe(2);
    world.wire.onclose?.({ code: 4001 });
    expect(socket.state).toBe('refused');
  });

  it('finds out that a connection is dead though nobody said so', async () => {
    await connected();
    world.pass(25_000);
    expect(world.wire.sent.at(-1)?.method).toBe('sessions.list');
    world.answer({});
    await settled();
    expect(socket.state).toBe('open');
    world.pass(25_000);
    world.pass(10_000);
    await settled();
    expect(socket.state).toBe('waiting');
    expect(world.wires[0]?.closed).toBe(true);
  });

  it('finds out at once when it is told that the network changed', async () => {
    await connected();
    socket.check();
    expect(world.wire.sent.at(-1)?.method).toBe('sessions.list');
    world.answer({});
    await settled();
    expect(socket.state, 'it still stands').toBe('open');
    socket.check();
    world.pass(10_000);
    await settled();
    expect(socket.state).toBe('waiting');
  });

  it('knocks again when nobody opens', () => {
    socket.start();
    world.pass(10_000);
    expect(socket.state).toBe('waiting');
    world.pass(15_000);
    expect(socket.state).toBe('connecting');
    expect(world.wires.map((wire) => wire.closed)).toEqual([true, false]);
  });

  it('hears nothing of a connection it gave up', async () => {
    await connected();
    const old = world.wire;
    const heard: unknown[] = [];
    const off = socket.on('tools.changed', (event) => heard.push(event));
    const tell = (wire: typeof old) => wire.onmessage?.({ data: JSON.stringify({ type: 'evt', event: 'tools.changed', payload: {} }) });
    tell(old);
    expect(heard.length).toBe(1);
    old.onclose?.({ code: 1006 });
    tell(old);
    expect(heard.length).toBe(1);
    off();
  });

  it('takes frames that make no sense calmly', async () => {
    await connected();
    for (const data of ['', '{', 'null', '[]', '{"type":"res"}', '{"type":"res","id":"nobody","ok":true}', '{"type":"evt"}', new ArrayBuffer(3)]) {
      expect(() => world.wire.onmessage?.({ data })).not.toThrow();
    }
    expect(socket.state).toBe('open');
  });

  it('asks no more than so many things at once', async () => {
    await connected();
    const calls = Array.from({ length: 300 }, () => socket.call('nodes.list', {}).catch((error: CallError) => error.message));
    expect(await calls[299]).toBe('Too many requests are waiting for a response.');
    socket.stop();
    expect(await calls[0]).toBe('The connection to the gateway was lost.');
  });

  it('tells how far a tool is to whoever called it', async () => {
    await connected();
    const told: number[] = [];
    const done = socket.invoke('gsv__Transfer', {}, (how) => told.push(how.done));
    const id = world.wire.sent.at(-1)?.id;
    const progress = (requestId: string | undefined, part: number) => world.wire.onmessage?.({ data: JSON.stringify({ type: 'evt', event: 'tool.progress', payload: { requestId, done: part } }) });
    progress(id, 5);
    progress('another', 7);
    world.answer({ ok: true }, id);
    await done;
    progress(id, 9);
    expect(told).toEqual([5]);
  });
});
