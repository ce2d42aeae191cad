// What OpenAI's own client sees of a gateway, as JSON on standard output.
//
//   node client.mjs CASE URL TOKEN [SESSION]
//
// CASE is one of those below.

import OpenAI from 'openai';

const [name, url, token, session] = process.argv.slice(2);
const connect = (apiKey, options = {}) =>
  new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0, ...options });
const client = connect(token);
const model = 'agent/main';
const user = (content) => ({ role: 'user', content });
const ask = (body, options) =>
  client.chat.completions.create({ model, messages: [user('hello')], ...body }, options);
// A picture of one pixel.
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = user([
  { type: 'text', text: 'hello, look at this' },
  { type: 'image_url', image_url: { url: pixel } },
]);

/** Every piece of a stream, and the text they make. */
async function pieces(stream) {
  const all = [];
  for await (const piece of stream) all.push(piece);
  const text = all.map((piece) => piece.choices[0]?.delta?.content ?? '').join('');
  return { text, all };
}

/** How a promise was refused: the class of the error and what it carries. */
async function refusal(promise) {
  try {
    return { answered: await promise };
  } catch (error) {
    const { status, code, type, param, message } = error;
    return { class: error.constructor.name, status, code, type, param, message };
  }
}

const cases = {
  async models() {
    const listed = [];
    for await (const one of client.models.list()) listed.push(one);
    return { listed, one: await client.models.retrieve(model) };
  },
  async whole() {
    return { plain: await ask({}), tools: await ask({ messages: [user('write it')] }) };
  },
  async stream() {
    const plain = await pieces(await ask({ stream: true }));
    const counted = await pieces(
      await ask({ stream: true, stream_options: { include_usage: true } }),
    );
    const tools = await pieces(await ask({ stream: true, messages: [user('write it')] }));
    const cut = await pieces(await ask({ stream: true, messages: [user('too long')] }));
    return { plain, counted, tools, cut };
  },
  async talk() {
    return ask({
      messages: [
        { role: 'system', content: 'be brief' },
        user('first question'),
        { role: 'assistant', content: 'first answer' },
        picture,
      ],
      max_completion_tokens: 321,
      reasoning_effort: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false } },
      },
    });
  },
  async durable() {
    const headers = { 'x-session-key': session };
    const messages = [user('not sent'), { role: 'assistant', content: 'not sent' }, picture];
    return {
      header: await ask({ messages }, { headers }),
      metadata: await ask({ metadata: { session } }),
      user: await ask({ user: session, metadata: { trace: '7' }, store: true, verbosity: 'low', unheard_of: 1 }),
    };
  },
  async errors() {
    const many = { type: 'function', function: { name: 'f', parameters: {} } };
    return {
      key: await refusal(connect('mh_wrong').chat.completions.create({ model, messages: [user('hello')] })),
      model: await refusal(ask({ model: 'agent/nobody' })),
      retrieve: await refusal(client.models.retrieve('gpt-4o')),
      tools: await refusal(ask({ tools: [many, many] })),
      temperature: await refusal(ask({ temperature: 3 })),
      streamed: await refusal(ask({ stream: true, stop: [''] })),
      image: await refusal(ask({ messages: [user([{ type: 'image_url', image_url: { url: 'https://example.com/x.png' } }])] })),
      session: await refusal(ask({ tools: [many], metadata: { session: 'work' } })),
      failed: await refusal(ask({ messages: [user('broken')] })),
      failedStream: await refusal(ask({ stream: true, messages: [user('broken')] })),
      cutStream: await refusal(ask({ stream: true, messages: [user('breaks later')] }).then(pieces)),
      nowhere: await refusal(client.embeddings.create({ model, input: 'x' })),
      control: (await ask({})).choices[0].message.content,
    };
  },
  // The client's own way to put pieces together, which is stricter than reading them.
  async helper() {
    const stream = client.chat.completions.stream({
      model,
      messages: [user('write it')],
      stream_options: { include_usage: true },
    });
    return { whole: await stream.finalChatCompletion(), usage: await stream.totalUsage() };
  },
  // Hangs up in the middle of an answer.
  async abort() {
    const hangUp = new AbortController();
    const messages = [user('forever')];
    const named = session ? { metadata: { session } } : {};
    const stream = await ask({ stream: true, messages, ...named }, { signal: hangUp.signal });
    let heard = '';
    for await (const piece of stream) {
      heard += piece.choices[0]?.delta?.content ?? '';
      if (heard) hangUp.abort();
    }
    return { heard };
  },
  // Hangs up before an answer that comes whole.
  async abortWhole() {
    const hangUp = new AbortController();
    const answer = refusal(ask({ messages: [user('forever')] }, { signal: hangUp.signal }));
    const headers = { authorization: `Bearer ${token}` };
    for (let busy = false; !busy; ) {
      const listed = await (await fetch(`${url}/api/sessions`, { headers })).json();
      busy = listed.result.sessions.some((one) => one.busy);
    }
    hangUp.abort();
    return answer;
  },
  async busy() {
    return refusal(ask({ metadata: { session } }));
  },
};

console.log(JSON.stringify(await cases[name]()));
