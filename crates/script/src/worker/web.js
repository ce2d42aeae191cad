// The parts of the web platform that have nothing to do with a page: addresses, encodings, copies, ids. Evaluated when a
// script first uses one of them, so that starting a worker costs nothing for scripts that do not.
(function (native) {
  "use strict";
  const text = (value) => String(value).toWellFormed();
  const need = (count, least, what) => {
    if (count < least) throw new TypeError(`${what} needs ${least} argument${least === 1 ? "" : "s"}`);
  };

  let follow, reload;
  class URLSearchParams {
    #list = [];
    #changed = null;
    static {
      follow = (params, changed) => { params.#changed = changed; };
      reload = (params, query) => { params.#list = native.parseForm(query); };
    }
    constructor(init = "") {
      if (typeof init === "object" && init !== null) {
        const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
        for (const pair of pairs) {
          const [name, value, ...more] = pair;
          if (value === undefined || more.length > 0) {
            throw new TypeError("URLSearchParams: each pair must have a name and a value");
          }
          this.#list.push([text(name), text(value)]);
        }
      } else {
        const query = text(init);
        this.#list = native.parseForm(query.startsWith("?") ? query.slice(1) : query);
      }
    }
    #write(list) {
      this.#list = list;
      if (this.#changed !== null) this.#changed(this.toString());
    }
    get size() { return this.#list.length; }
    append(name, value) {
      need(arguments.length, 2, "append");
      this.#write([...this.#list, [text(name), text(value)]]);
    }
    delete(name, value) {
      need(arguments.length, 1, "delete");
      const [n, v] = [text(name), value === undefined ? undefined : text(value)];
      this.#write(this.#list.filter((pair) => pair[0] !== n || (v !== undefined && pair[1] !== v)));
    }
    get(name) {
      need(arguments.length, 1, "get");
      const n = text(name);
      const found = this.#list.find((pair) => pair[0] === n);
      return found === undefined ? null : found[1];
    }
    getAll(name) {
      need(arguments.length, 1, "getAll");
      const n = text(name);
      return this.#list.filter((pair) => pair[0] === n).map((pair) => pair[1]);
    }
    has(name, value) {
      need(arguments.length, 1, "has");
      const [n, v] = [text(name), value === undefined ? undefined : text(value)];
      return this.#list.some((pair) => pair[0] === n && (v === undefined || pair[1] === v));
    }
    set(name, value) {
      need(arguments.length, 2, "set");
      const [n, v] = [text(name), text(value)];
      const at = this.#list.findIndex((pair) => pair[0] === n);
      if (at < 0) return this.append(n, v);
      this.#write(this.#list.filter((pair, i) => i <= at || pair[0] !== n).map((pair, i) => (i === at ? [n, v] : pair)));
    }
    sort() {
      this.#write(this.#list.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
    }
    forEach(call, self) {
      for (const [name, value] of this) call.call(self, value, name, this);
    }
    *entries() {
      for (let i = 0; i < this.#list.length; i += 1) yield [...this.#list[i]];
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return native.writeForm(this.#list); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }

  // The order in which the worker gives the parts of an address.
  const PARTS = [
    "href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash",
  ];
  class URL {
    #parts;
    #params = null;
    constructor(url, base) {
      need(arguments.length, 1, "URL");
      const parts = native.parseUrl(text(url), base === undefined ? null : text(base));
      if (parts == null) {
        const from = base === undefined ? "" : ` with base ${JSON.stringify(text(base).slice(0, 200))}`;
        const error = new TypeError(`Invalid URL: ${JSON.stringify(text(url).slice(0, 200))}${from}`);
        error.code = "ERR_INVALID_URL";
        throw error;
      }
      this.#parts = parts;
    }
    static canParse(url, base) {
      return native.parseUrl(text(url), base === undefined ? null : text(base)) != null;
    }
    static parse(url, base) {
      return URL.canParse(url, base) ? new URL(url, base) : null;
    }
    #set(part, value) {
      const parts = native.changeUrl(this.#parts[0], part, text(value));
      if (parts == null) {
        if (part === "href") throw new TypeError(`Invalid URL: ${JSON.stringify(text(value).slice(0, 200))}`);
        return;
      }
      this.#parts = parts;
      if (this.#params !== null) reload(this.#params, parts[9].slice(1));
    }
    get searchParams() {
      if (this.#params === null) {
        this.#params = new URLSearchParams(this.#parts[9]);
        follow(this.#params, (query) => {
          this.#parts = native.changeUrl(this.#parts[0], "search", query) ?? this.#parts;
        });
      }
      return this.#params;
    }
    toString() { return this.#parts[0]; }
    toJSON() { return this.#parts[0]; }
    get [Symbol.toStringTag]() { return "URL"; }
    static {
      PARTS.forEach((part, at) => {
        const get = function () { return this.#parts[at]; };
        const set = part === "origin" ? undefined : function (value) { this.#set(part, value); };
        Object.defineProperty(URL.prototype, part, { get, set, enumerable: true, configurable: true });
      });
    }
  }

  const bytesOf = (input, what) => {
    if (input === undefined) return new Uint8Array(0);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (input instanceof ArrayBuffer) return new Uint8Array(input);
    throw new TypeError(`${what}: the first argument must be an ArrayBuffer or a view of one`);
  };

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(input = "") { return new Uint8Array(native.utf8(text(input))); }
    encodeInto(input, into) {
      const view = bytesOf(into, "encodeInto");
      let [read, written] = [0, 0];
      for (const character of text(input)) {
        const bytes = this.encode(character);
        if (written + bytes.length > view.length) break;
        view.set(bytes, written);
        read += character.length;
        written += bytes.length;
      }
      return { read, written };
    }
    get [Symbol.toStringTag]() { return "TextEncoder"; }
  }

  let streams = 0;
  class TextDecoder {
    #name;
    #options;
    #stream = 0;
    constructor(label = "utf-8", options = {}) {
      const name = native.encodingName(text(label));
      if (name == null) {
        throw new RangeError(`TextDecoder: ${JSON.stringify(text(label).slice(0, 50))} is not a known encoding`);
      }
      this.#name = name;
      this.#options = { fatal: Boolean(options?.fatal), ignoreBOM: Boolean(options?.ignoreBOM) };
    }
    get encoding() { return this.#name; }
    get fatal() { return this.#options.fatal; }
    get ignoreBOM() { return this.#options.ignoreBOM; }
    decode(input, options) {
      const bytes = bytesOf(input, "decode");
      const more = Boolean(options?.stream);
      if (this.#stream === 0) this.#stream = ++streams;
      const id = this.#stream;
      if (!more) this.#stream = 0;
      const decoded = native.decode(id, this.#name, bytes, this.fatal, this.ignoreBOM, more);
      if (decoded == null) {
        this.#stream = 0;
        throw new TypeError(`TextDecoder: the data is not valid ${this.#name}`);
      }
      return decoded;
    }
    get [Symbol.toStringTag]() { return "TextDecoder"; }
  }

  const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
  const uncloneable = (what) => new DOMException(`structuredClone: ${what} cannot be cloned`, "DataCloneError");
  const clone = (value, seen) => {
    if (typeof value === "function") throw uncloneable(`the function ${value.name || "(anonymous)"}`);
    if (typeof value === "symbol") throw uncloneable("a symbol");
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const keep = (copy) => {
      seen.set(value, copy);
      return copy;
    };
    const fill = (copy) => {
      for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
      return copy;
    };
    if (Array.isArray(value)) return fill(keep(new Array(value.length)));
    if (ArrayBuffer.isView(value)) {
      const buffer = clone(value.buffer, seen);
      const length = value instanceof DataView ? value.byteLength : value.length;
      return keep(new value.constructor(buffer, value.byteOffset, length));
    }
    if (value instanceof Error) {
      const copy = keep(new (ERRORS[value.name] ?? Error)(value.message));
      if ("cause" in value) copy.cause = clone(value.cause, seen);
      return copy;
    }
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [key, held] of [...value]) copy.set(clone(key, seen), clone(held, seen));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const held of [...value]) copy.add(clone(held, seen));
      return copy;
    }
    switch (kindOf(value)) {
      case "Date":
        return keep(new Date(value.getTime()));
      case "RegExp":
        return keep(new RegExp(value.source, value.flags));
      case "ArrayBuffer":
        return keep(value.slice(0));
      case "Boolean":
      case "Number":
      case "String":
      case "BigInt":
        return keep(Object(value.valueOf()));
      case "Promise":
      case "WeakMap":
      case "WeakSet":
      case "WeakRef":
      case "Generator":
        throw uncloneable(`a ${kindOf(value)}`);
      default:
        return fill(keep({}));
    }
  };
  function structuredClone(value) {
    need(arguments.length, 1, "structuredClone");
    return clone(value, new Map());
  }

  const crypto = Object.freeze({ randomUUID: () => native.uuid() });
  return { URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, crypto };
})
