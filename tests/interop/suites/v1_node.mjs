// Clients of OpenAI's and Anthropic's formats against /v1: one table of requests, and what the model received.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Output, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { Gateway, Model, cases } from '../gateway.mjs';

const MODEL = 'agent/main';
const GREETING = 'Good morning to all of you.';
const RAIN = 'It rains in Oslo.';
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const call = { id: 'call_1', name: 'weather', arguments: { city: 'Oslo' } };
const model = await Model.start([
  { match: { hasToolResult: true }, response: { content: RAIN } },
  { match: { userMessage: 'weather' }, response: { toolCalls: [call] } },
  { match: { userMessage: 'as json' }, response: { content: '{"city":"Oslo"}' } },
  { match: { userMessage: 'picture' }, response: { content: 'One red pixel.' } },
  { match: { userMessage: 'hello' }, response: { content: GREETING } },
]);
const gateway = await Gateway.start(`
[models]
default = "there/gpt-4o"
[models.providers.there]
kind = "openai"
base_url = "${model.url}/v1"
`);
const apiKey = gateway.token;
const v1 = `${gateway.url}/v1`;
const user = (content) => ({ role: 'user', content });

/** The last request as the model received it. */
const received = () => model.received.at(-1);

async function atOnce(ask) {
  const texts = await Promise.all(Array.from({ length: 20 }, ask));
  assert.deepEqual(new Set(texts), new Set([GREETING]));
}

{
  const one = cases('openai');
  const client = new OpenAI({ apiKey, baseURL: v1, maxRetries: 0 });
  const chat = (more) => client.chat.completions.create({ model: MODEL, ...more });
  const tools = [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }];
  await one('chat: plain, temperature=0', async () => {
    const answer = await chat({ messages: [user('hello')], temperature: 0, seed: 7 });
    assert.equal(answer.choices[0].message.content, GREETING);
    const body = received();
    assert.deepEqual([body.temperature, body.seed], [0, 7]);
  });
  await one('chat: tools are run by its own runner', async () => {
    const ran = [];
    const weather = {
      type: 'function',
      function: {
        name: 'weather',
        parse: JSON.parse,
        parameters: SCHEMA,
        function: ({ city }) => {
          ran.push(city);
          return 'rain';
        },
      },
    };
    const runner = client.chat.completions.runTools({ model: MODEL, messages: [user('weather')], tools: [weather] });
    assert.equal(await runner.finalContent(), RAIN);
    assert.deepEqual(ran, ['Oslo']);
  });
  await one('chat: tools streamed', async () => {
    const stream = client.chat.completions.stream({ model: MODEL, messages: [user('weather')], tools });
    const { choices } = await stream.finalChatCompletion();
    assert.equal(choices[0].message.tool_calls[0].function.name, 'weather');
    assert.equal(choices[0].finish_reason, 'tool_calls');
  });
  await one('responses: plain, streamed and tools', async () => {
    assert.equal((await client.responses.create({ model: MODEL, input: 'hello' })).output_text, GREETING);
    const stream = client.responses.stream({ model: MODEL, input: 'hello' });
    assert.equal((await stream.finalResponse()).output_text, GREETING);
    const weather = { type: 'function', name: 'weather', parameters: SCHEMA, strict: true };
    const first = await client.responses.create({ model: MODEL, input: 'weather', tools: [weather] });
    const { call_id } = first.output.find((item) => item.type === 'function_call');
    const input = [{ type: 'function_call_output', call_id, output: 'rain' }];
    const next = { model: MODEL, previous_response_id: first.id, input, tools: [weather] };
    assert.equal((await client.responses.create(next)).output_text, RAIN);
  });
  await one('errors are its own', async () => {
    await assert.rejects(chat({ model: 'nobody', messages: [user('hello')] }), OpenAI.NotFoundError);
    await assert.rejects(chat({ messages: [user('hello')], n: 2 }), OpenAI.BadRequestError);
    const stranger = new OpenAI({ apiKey: 'no', baseURL: v1, maxRetries: 0 });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
  });
  await one('20 concurrent', () =>
    atOnce(async () => (await chat({ messages: [user('hello')] })).choices[0].message.content),
  );
}

{
  const one = cases('@anthropic-ai/sdk');
  const client = new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 });
  const base = { model: MODEL, max_tokens: 500 };
  const tools = [{ name: 'weather', input_schema: SCHEMA }];
  const text = (answer) => answer.content.map((block) => block.text ?? '').join('');
  await one('plain', async () => {
    assert.equal(text(await client.messages.create({ ...base, messages: [user('hello')] })), GREETING);
    assert.equal(received().max_tokens, 500);
  });
  await one('streamed', async () => {
    const stream = client.messages.stream({ ...base, messages: [user('hello')] });
    assert.equal(await stream.finalText(), GREETING);
  });
  await one('tools both ways, streamed', async () => {
    const messages = [user('weather')];
    const first = await client.messages.stream({ ...base, messages, tools }).finalMessage();
    assert.equal(first.stop_reason, 'tool_use');
    const use = first.content.find((block) => block.type === 'tool_use');
    assert.deepEqual(use.input, { city: 'Oslo' });
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'rain' };
    const next = [...messages, { role: 'assistant', content: first.content }, user([result])];
    assert.equal(text(await client.messages.create({ ...base, messages: next, tools })), RAIN);
  });
  await one('image', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
    const messages = [user([image, { type: 'text', text: 'picture' }])];
    assert.equal(text(await client.messages.create({ ...base, messages })), 'One red pixel.');
  });
  await one('errors are its own', async () => {
    const nobody = client.messages.create({ ...base, model: 'nobody', messages: [user('hello')] });
    await assert.rejects(nobody, Anthropic.NotFoundError);
    const stranger = new Anthropic({ apiKey: 'no', baseURL: gateway.url, maxRetries: 0 });
    await assert.rejects(stranger.messages.create({ ...base, messages: [user('hello')] }), Anthropic.AuthenticationError);
  });
  await one('20 concurrent', () =>
    atOnce(async () => text(await client.messages.create({ ...base, messages: [user('hello')] }))),
  );
}

{
  const openai = createOpenAI({ apiKey, baseURL: v1 });
  const compatible = createOpenAICompatible({ name: 'here', apiKey, baseURL: v1, supportsStructuredOutputs: true });
  const anthropic = createAnthropic({ apiKey, baseURL: v1 });
  const ways = {
    'responses format': openai(MODEL),
    'chat format': openai.chat(MODEL),
    'openai-compatible': compatible(MODEL),
    'messages format': anthropic(MODEL),
  };
  const one = cases('ai');
  for (const [name, way] of Object.entries(ways)) {
    await one(`${name}: plain, temperature=0`, async () => {
      const answer = await generateText({ model: way, prompt: 'hello', temperature: 0, maxRetries: 0 });
      assert.equal(answer.text, GREETING);
      assert.equal(received().temperature, 0);
    });
    await one(`${name}: streamed`, async () => {
      const answer = streamText({ model: way, prompt: 'hello', maxRetries: 0 });
      let text = '';
      for await (const piece of answer.textStream) text += piece;
      assert.equal(text, GREETING);
    });
    for (const [how, run] of Object.entries({ whole: generateText, streamed: streamText })) {
      await one(`${name}: the client's tool is run, ${how}`, async () => {
        const ran = [];
        const weather = tool({
          description: 'Knows the weather.',
          inputSchema: jsonSchema(SCHEMA),
          execute: async ({ city }) => {
            ran.push(city);
            return 'rain';
          },
        });
        const asked = { model: way, prompt: 'weather', tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 };
        assert.equal(await (await run(asked)).text, RAIN);
        assert.deepEqual(ran, ['Oslo']);
      });
    }
    if (name !== 'messages format') {
      await one(`${name}: JSON`, async () => {
        const output = Output.object({ schema: jsonSchema(SCHEMA) });
        const answer = await generateText({ model: way, prompt: 'as json', output, maxRetries: 0 });
        assert.deepEqual(answer.output, { city: 'Oslo' });
      });
    }
    await one(`${name}: image`, async () => {
      const content = [{ type: 'text', text: 'picture' }, { type: 'image', image: PIXEL, mediaType: 'image/png' }];
      const answer = await generateText({ model: way, messages: [user(content)], maxRetries: 0 });
      assert.equal(answer.text, 'One red pixel.');
    });
    await one(`${name}: 20 concurrent`, () =>
      atOnce(async () => (await generateText({ model: way, prompt: 'hello', maxRetries: 0 })).text),
    );
  }
}

await gateway.stop();
await model.stop();
