// What the model makers' own clients read of a reply, as JSON on standard output.
//
//   node official.mjs KIND URL MODEL KEY
//
// KIND is how the server speaks. The reply is asked for with a tool offered, and put together by
// the client itself: what a client cannot put together is an error.

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';

const [kind, url, model, key] = process.argv.slice(2);
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = { name: 'weather', description: 'Tells the weather of a city.' };
const question = 'What is the weather in Oslo and in Bergen?';

const asks = {
  async anthropic() {
    const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
    const stream = client.messages.stream({
      model,
      max_tokens: 1000,
      messages: [{ role: 'user', content: [{ type: 'text', text: question }] }],
      tools: [{ ...tool, input_schema: schema }],
    });
    const { content, stop_reason, usage } = await stream.finalMessage();
    const all = (type) => content.filter((block) => block.type === type);
    return {
      thinking: all('thinking').map((block) => block.thinking).join(''),
      text: all('text').map((block) => block.text).join(''),
      calls: all('tool_use').map((block) => ({ name: block.name, arguments: block.input })),
      stop: stop_reason,
      input: usage.input_tokens,
      cached: usage.cache_read_input_tokens ?? 0,
      output: usage.output_tokens,
    };
  },

  async openai() {
    const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model,
      max_tokens: 1000,
      messages: [{ role: 'user', content: question }],
      tools: [{ type: 'function', function: { ...tool, parameters: schema } }],
      stream_options: { include_usage: true },
    });
    // Thoughts are an addition of other servers: the client hands them on, but in pieces only.
    const thoughts = [];
    stream.on('chunk', (piece) => thoughts.push(piece.choices[0]?.delta?.reasoning_content ?? ''));
    const { choices, usage } = await stream.finalChatCompletion();
    const { message, finish_reason } = choices[0];
    const read = ({ function: of }) => ({ name: of.name, arguments: JSON.parse(of.arguments) });
    return {
      thinking: thoughts.join(''),
      text: message.content,
      calls: (message.tool_calls ?? []).map(read),
      stop: finish_reason,
      input: usage.prompt_tokens,
      cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage.completion_tokens,
    };
  },

  async 'openai-responses'() {
    const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    const stream = client.responses.stream({
      model,
      store: false,
      max_output_tokens: 1000,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: question }] }],
      tools: [{ type: 'function', ...tool, parameters: schema, strict: false }],
    });
    const { output, status, usage } = await stream.finalResponse();
    const all = (type) => output.filter((item) => item.type === type);
    return {
      thinking: all('reasoning').flatMap((item) => item.summary).map((part) => part.text).join(''),
      text: all('message').flatMap((item) => item.content).map((part) => part.text).join(''),
      calls: all('function_call').map((item) => ({ name: item.name, arguments: JSON.parse(item.arguments) })),
      stop: status,
      input: usage.input_tokens,
      cached: usage.input_tokens_details?.cached_tokens ?? 0,
      output: usage.output_tokens,
    };
  },

  async gemini() {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
    const stream = await client.models.generateContentStream({
      model,
      contents: [{ role: 'user', parts: [{ text: question }] }],
      config: {
        maxOutputTokens: 1000,
        tools: [{ functionDeclarations: [{ ...tool, parametersJsonSchema: schema }] }],
      },
    });
    const parts = [];
    let last;
    for await (const piece of stream) {
      parts.push(...(piece.candidates[0].content?.parts ?? []));
      last = piece;
    }
    const texts = (thought) =>
      parts.filter((part) => part.text && Boolean(part.thought) === thought).map((part) => part.text).join('');
    const { usageMetadata: usage } = last;
    return {
      thinking: texts(true),
      text: texts(false),
      calls: parts.flatMap(({ functionCall: of }) => (of ? [{ name: of.name, arguments: of.args }] : [])),
      stop: last.candidates[0].finishReason,
      input: usage.promptTokenCount,
      cached: usage.cachedContentTokenCount ?? 0,
      output: usage.candidatesTokenCount,
    };
  },
};

console.log(JSON.stringify(await asks[kind]()));
