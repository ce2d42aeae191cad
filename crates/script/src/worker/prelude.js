// What a script finds when it starts. Everything used later is taken into hand here, first, so that
// a script that changes JSON, Promise or any prototype changes them for itself alone.
(function (native) {
  "use strict";
  const { stringify, parse } = JSON;
  const { create, freeze, getPrototypeOf, defineProperty, keys } = Object;
  const { apply } = Reflect;
  const { isArray } = Array;
  const { Error, TypeError, RangeError, EvalError, Promise, Map, Set, String, Number, Object: Obj } = globalThis;
  const taken = (f) => (self, ...args) => apply(f, self, args);
  const wellFormed = taken(String.prototype.toWellFormed);
  const startsWith = taken(String.prototype.startsWith);
  const bigText = taken(BigInt.prototype.toString);
  const symbolText = taken(Symbol.prototype.toString);
  const isProtoOf = taken(Obj.prototype.isPrototypeOf);
  const mapEach = taken(Map.prototype.forEach);
  const mapSet = taken(Map.prototype.set);
  const mapDelete = taken(Map.prototype.delete);
  const setEach = taken(Set.prototype.forEach);
  const setHas = taken(Set.prototype.has);
  const setAdd = taken(Set.prototype.add);
  const setDelete = taken(Set.prototype.delete);
  const test = taken(RegExp.prototype.test);
  const slice = taken(String.prototype.slice);
  const ObjectProto = Obj.prototype, ArrayProto = Array.prototype, ErrorProto = Error.prototype;
  const PromiseProto = Promise.prototype, MapProto = Map.prototype, SetProto = Set.prototype;

  const isError = (v) => isProtoOf(ErrorProto, v);
  const put = (target, key, value) =>
    defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const hide = (target, key, value) =>
    defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

  // A property as text, whatever the script made of it.
  const read = (v, key) => {
    try {
      const found = v[key];
      return found === undefined || found === null ? "" : wellFormed(slice(String(found), 0, 16384));
    } catch {
      return "";
    }
  };

  const at = (key) => (key === "" ? "" : ` (at "${key}")`);

  // The way to the first BigInt, or to the first reference back to something around it. Looked for only once one is
  // known to be there, so that data without any costs nothing.
  const wayTo = (root, isBig) => {
    const around = new Set();
    const look = (v, way) => {
      if (isBig && typeof v === "bigint") return way;
      if (typeof v !== "object" || v === null) return undefined;
      if (setHas(around, v)) return isBig ? undefined : way;
      setAdd(around, v);
      const list = isArray(v);
      let inner = v;
      if (isProtoOf(MapProto, v)) {
        inner = create(null);
        mapEach(v, (value, name) => {
          inner[typeof name === "string" ? name : show(name)] = value;
        });
      } else if (isProtoOf(SetProto, v)) {
        let n = 0;
        inner = create(null);
        setEach(v, (value) => { inner[n++] = value; });
      }
      const names = keys(inner);
      for (let i = 0; i < names.length; i += 1) {
        const name = names[i];
        const word = list ? `[${name}]` : test(/^[\p{L}_$][\p{L}\p{N}_$-]*$/u, name) ? name : `[${stringify(name)}]`;
        const found = look(inner[name], way === "" || word[0] === "[" ? way + word : `${way}.${word}`);
        if (found !== undefined) return found;
      }
      setDelete(around, v);
      return undefined;
    };
    try {
      const way = look(root, "");
      return way === undefined || way === "" ? "" : ` at \`${slice(way, 0, 200)}\``;
    } catch {
      return ""; // too deep, or a property that throws
    }
  };

  // Plain data out of what JSON would drop without a word.
  const BIG = freeze({ __proto__: null });
  const plain = (what) => (key, v) => {
    if (typeof v === "bigint") throw BIG;
    if (typeof v !== "object" || v === null) return v;
    const proto = getPrototypeOf(v);
    if (proto === ObjectProto || proto === ArrayProto || proto === null) return v;
    if (proto === PromiseProto) {
      throw new TypeError(
        `${what} holds a Promise${at(key)} that was not awaited; use await, or await Promise.all(list)`,
      );
    }
    if (proto === MapProto) {
      const object = create(null);
      mapEach(v, (value, name) => {
        object[typeof name === "string" ? name : show(name)] = value;
      });
      return object;
    }
    if (proto === SetProto) {
      const list = [];
      let n = 0;
      setEach(v, (value) => put(list, n++, value));
      return list;
    }
    if (isError(v)) return { __proto__: null, name: read(v, "name"), message: read(v, "message"), code: v.code };
    return v;
  };

  // `verb` and `before` say what is done with the value, and by which function.
  const encode = (value, what, verb = "returned", before = "") => {
    let text;
    try {
      text = stringify(value, plain(what));
    } catch (error) {
      if (error === BIG) {
        const way = wayTo(value, true);
        throw new TypeError(
          `${before}a BigInt cannot be ${verb} as JSON${way}: convert it with Number() or String()`,
        );
      }
      if (isError(error) && read(error, "message") === "circular reference") {
        const way = wayTo(value, false);
        throw new TypeError(
          `${before}a value that refers to itself cannot be ${verb} as JSON${way}: leave that reference out`,
        );
      }
      throw error;
    }
    if (text === undefined) {
      throw new TypeError(`${what} is a ${typeof value}, which is no data; give plain values`);
    }
    return text;
  };

  const ownFrames = (stack) => {
    let found = "";
    for (let from = 0; from < stack.length; ) {
      let to = from;
      while (to < stack.length && stack[to] !== "\n") to += 1;
      const line = slice(stack, from, to);
      if (isOwn(line)) found += "\n" + line;
      from = to + 1;
    }
    return found;
  };
  const isOwn = (line) => {
    for (let i = 0; i < line.length; i += 1) {
      if (line[i] === "s" && startsWith(line, "script.js:", i)) return true;
    }
    return false;
  };

  const show = (v) => {
    switch (typeof v) {
      case "string":
        return v;
      case "bigint":
        return bigText(v) + "n";
      case "symbol":
        return symbolText(v);
      case "function":
        return `[function ${read(v, "name")}]`;
      case "object":
        if (v === null) return "null";
        if (isError(v)) return `${read(v, "name")}: ${read(v, "message")}${ownFrames(read(v, "stack"))}`;
        try {
          return encode(v, "the value", "shown");
        } catch (error) {
          return `[not shown: ${read(error, "message")}]`;
        }
      default:
        return String(v);
    }
  };

  // What is asked of the host, until the answer comes.
  const pending = create(null);
  let asked = 0;
  const ask = (send) => {
    const trace = new Error(); // knows the line of the call, which the answer does not
    return new Promise((resolve, reject) => {
      asked += 1;
      pending[asked] = { __proto__: null, resolve, reject, trace };
      send(asked);
    });
  };
  const settle = (id, good, text, message) => {
    const waiting = pending[id];
    if (waiting === undefined) return;
    delete pending[id];
    if (good) {
      waiting.resolve(parse(text));
      return;
    }
    const { trace, reject } = waiting;
    hide(trace, "name", "ToolError");
    hide(trace, "message", message);
    put(trace, "code", text);
    reject(trace);
  };

  const named = (value, what) => {
    if (typeof value !== "string" || value === "") throw new TypeError(`${what} must be a text`);
    return wellFormed(value);
  };

  const bridge = {
    callTool(server, tool, args) {
      const where = named(server, "callTool: the first argument, the name of a server,");
      const which = named(tool, "callTool: the second argument, the name of a tool,");
      if (args === undefined || args === null) args = {};
      if (typeof args !== "object" || isArray(args)) {
        throw new TypeError("callTool: the third argument must be an object that names the tool's arguments");
      }
      const text = encode(args, "callTool: the third argument", "passed", "callTool: ");
      return ask((id) => native.tool(id, where, which, text));
    },
    createArtifact(filename, content, fileType) {
      const name = named(filename, "createArtifact: the first argument, the name of a file,");
      const type = fileType === undefined || fileType === null
        ? null
        : named(fileType, "createArtifact: the third argument, the type of the file,");
      if (typeof content !== "string" && type !== "json") {
        throw new TypeError("createArtifact: the second argument must be a text (or any value for type json)");
      }
      const text = typeof content === "string"
        ? wellFormed(content)
        : encode(content, "createArtifact: the content", "passed", "createArtifact: ");
      return ask((id) => native.create(id, name, text, type));
    },
    readArtifact(identifier) {
      const which = named(identifier, "readArtifact: the id, name or address of an artifact");
      return ask((id) => native.read(id, which));
    },
  };

  const MOST_TIMERS = 10000;
  const timers = create(null);
  let live = 0;
  let counted = 0;
  const schedule = (name, call, delay, args, every) => {
    if (typeof call !== "function") throw new TypeError(`${name}: the first argument must be a function`);
    if (live >= MOST_TIMERS) throw new RangeError(`${name}: ${MOST_TIMERS} timers wait already`);
    let ms = Number(delay);
    if (!(ms >= 1)) ms = 1;
    if (ms > 2147483647) ms = 2147483647;
    counted += 1;
    live += 1;
    timers[counted] = { __proto__: null, call, args, ms, every };
    native.timer(counted, ms);
    return counted;
  };
  const forget = (id) => {
    if (typeof id !== "number" || timers[id] === undefined) return;
    delete timers[id];
    live -= 1;
    native.untimer(id);
  };
  const fire = (id) => {
    const timer = timers[id];
    if (timer === undefined) return;
    if (timer.every) {
      native.timer(id, timer.ms);
    } else {
      delete timers[id];
      live -= 1;
    }
    apply(timer.call, undefined, timer.args);
  };
  const clocks = {
    setTimeout(call, delay, ...args) {
      return schedule("setTimeout", call, delay, args, false);
    },
    setInterval(call, delay, ...args) {
      return schedule("setInterval", call, delay, args, true);
    },
    clearTimeout(id) {
      forget(id);
    },
    clearInterval(id) {
      forget(id);
    },
  };

  const say = (level) =>
    ({
      [level](...args) {
        let text = "";
        for (let i = 0; i < args.length; i += 1) text += (i === 0 ? "" : " ") + show(args[i]);
        native.log(level, wellFormed(text));
      },
    })[level];

  // Nothing turns text into code.
  const noCode = {
    Function() {
      throw new EvalError("text cannot be made into code here; write the code itself");
    },
  }.Function;
  defineProperty(noCode, "prototype", { __proto__: null, value: getPrototypeOf(noCode) });
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let i = 0; i < kinds.length; i += 1) {
    defineProperty(getPrototypeOf(kinds[i]), "constructor", {
      __proto__: null,
      value: noCode,
      writable: false,
      enumerable: false,
      configurable: false,
    });
  }
  // Hooks into how the stack of an error is written.
  delete Error.prepareStackTrace;
  delete Error.stackTraceLimit;

  const fixed = (name, value) =>
    defineProperty(globalThis, name, {
      __proto__: null,
      value,
      writable: false,
      enumerable: false,
      configurable: false,
    });
  const still = (f) => freeze(f);
  fixed("Function", still(noCode));
  fixed("eval", still(noCode));
  fixed("callTool", still(bridge.callTool));
  fixed(
    "codeExec",
    freeze({
      __proto__: null,
      createArtifact: still(bridge.createArtifact),
      readArtifact: still(bridge.readArtifact),
    }),
  );
  fixed(
    "console",
    freeze({
      __proto__: null,
      log: still(say("log")),
      error: still(say("error")),
      warn: still(say("warn")),
      info: still(say("info")),
      debug: still(say("debug")),
    }),
  );
  fixed("setTimeout", still(clocks.setTimeout));
  fixed("setInterval", still(clocks.setInterval));
  fixed("clearTimeout", still(clocks.clearTimeout));
  fixed("clearInterval", still(clocks.clearInterval));

  // The rest of the platform is made when it is first used.
  let web;
  const late = (name) => {
    const set = (value) => hide(globalThis, name, value);
    const get = () => {
      web ??= native.web();
      set(web[name]);
      return web[name];
    };
    defineProperty(globalThis, name, { __proto__: null, get, set, enumerable: false, configurable: true });
  };
  late("URL");
  late("URLSearchParams");
  late("TextEncoder");
  late("TextDecoder");
  late("structuredClone");
  late("crypto");

  // Rejections that nobody has looked at.
  const rejected = new Map();

  return {
    __proto__: null,
    settle,
    fire,
    encode,
    track(promise, reason, handled) {
      if (handled) mapDelete(rejected, promise);
      else mapSet(rejected, promise, { __proto__: null, reason });
    },
    overlooked(main) {
      let first;
      mapEach(rejected, (value, promise) => {
        if (first === undefined && promise !== main) first = value;
      });
      return first;
    },
    explain(e) {
      if (typeof e !== "object" || e === null || !isError(e)) {
        const position = typeof e === "object" && e !== null ? read(e, "stack") : "";
        return { __proto__: null, name: "", message: wellFormed(slice(show(e), 0, 16384)), stack: position };
      }
      const code = read(e, "code");
      const message = read(e, "message");
      return {
        __proto__: null,
        name: read(e, "name"),
        message: code === "" || read(e, "name") !== "ToolError" ? message : `${code}: ${message}`,
        stack: read(e, "stack"),
      };
    },
  };
})
