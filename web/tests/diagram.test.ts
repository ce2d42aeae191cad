import { describe, expect, it } from 'vitest';
import { diagram } from '../src/lib/diagram';

const words = (source: string) => diagram(source)?.boxes.map((one) => one.lines.join(' '));

describe('a flowchart', () => {
  it('has its nodes, links and labels', () => {
    const drawn = diagram('graph TD\n  A[Start] --> B{Is it?}\n  B -->|Yes| C(OK)\n  B -- No --> D["End (of it)"]\n  C -.-> D %% a remark');
    expect(drawn?.boxes.map((one) => [one.lines.join(' '), one.shape])).toEqual([['Start', 'box'], ['Is it?', 'diamond'], ['OK', 'round'], ['End (of it)', 'box']]);
    expect(drawn?.labels.map((one) => one.text)).toEqual(['Yes', 'No']);
    expect(drawn?.lines.map((one) => [one.dashed, one.arrow])).toEqual([[false, true], [false, true], [false, true], [true, true]]);
  });
  it('goes down, or across', () => {
    const at = (source: string) => diagram(source)?.boxes.map(({ x, y }) => ({ x, y })) ?? [];
    const [down, across] = [at('graph TD\nA --> B'), at('flowchart LR\nA --> B')];
    expect((down[1]?.y ?? 0) > (down[0]?.y ?? 0) && down[1]?.x === down[0]?.x).toBe(true);
    expect((across[1]?.x ?? 0) > (across[0]?.x ?? 0) && across[1]?.y === across[0]?.y).toBe(true);
  });
  it('may lead back, to itself, and to several at once', () => {
    expect(words('graph LR\nA --> B & C\nB --> A\nC --> C')).toEqual(['A', 'B', 'C']);
    expect(diagram('graph LR\nA --> B & C\nB --> A\nC --> C')?.lines).toHaveLength(4);
  });
});

describe('a sequence diagram', () => {
  it('has its participants, messages and notes', () => {
    const drawn = diagram('sequenceDiagram\n  participant A as Alice\n  A->>B: Hello\n  B-->>A: Hi\n  Note over A,B: They met\n  loop every day\n  A->>A: Think\n  end');
    expect(drawn?.boxes.map((one) => one.lines.join(' '))).toEqual(['Alice', 'B', 'They met']);
    expect(drawn?.labels.map((one) => one.text)).toEqual(['Hello', 'Hi', 'loop every day', 'Think']);
  });
});

it('what is not read is left to its source, whatever it is', () => {
  for (const source of ['', 'pie\n"a": 1', 'gantt\ntitle x', 'graph TD\nsubgraph one\nA\nend', 'graph TD\n???', 'sequenceDiagram\n???', 'graph TD\nA -->', `graph TD\n${'A-->'.repeat(5_000)}`]) expect(() => diagram(source)).not.toThrow();
  expect(diagram('pie\n"a": 1')).toBeNull();
  expect(diagram('graph TD\nsubgraph one\nA\nend')).toBeNull();
});
