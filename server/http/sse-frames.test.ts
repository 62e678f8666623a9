import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawConnection, rawPost } from '../testing/http-client.ts';
import { startTestApp } from '../testing/test-app.ts';

const chatTemplate = '{% for m in messages %}{{ m.content }}{% endfor %}';
const letters = { allowed_token_ids: [65], ignore_eos: true, stream: true };

interface Transfer {
  head: string;
  /** The chunks of the body; each was one write of the server. */
  writes: string[];
  /** What the first read of the socket brought. */
  firstRead: string;
}

async function transfer(path: string, body: object): Promise<Transfer> {
  const app = await startTestApp({ stepMs: 5, model: { chatTemplate } });
  try {
    const { socket, closed, received } = await rawConnection(app);
    let firstRead = '';
    socket.once('data', (chunk) => {
      firstRead = chunk.toString('utf8');
    });
    socket.write(rawPost(path, body, 'Connection: close\r\n'));
    await closed;
    const [head = '', ...rest] = received().split('\r\n\r\n');
    const writes = rest.join('\r\n\r\n').split(/(?:^|\r\n)[0-9a-f]+\r\n/);
    assert.equal(writes.shift(), '');
    // The chunk of length 0 ends the body.
    assert.equal(writes.pop(), '\r\n');
    return { head, writes, firstRead };
  } finally {
    await app.close();
  }
}

test('each step is one write: tokens of all choices, the last one together with usage and [DONE]', async () => {
  const body = { prompt: 'a', max_tokens: 6, n: 2, ...letters };
  const { writes } = await transfer('/v1/completions', {
    ...body,
    stream_options: { include_usage: true },
  });
  assert.equal(writes.length, 6);
  for (const write of writes) assert.equal(write.match(/"text":"A"/g)?.length, 2);
  assert.match(writes.at(-1) ?? '', /"choices":\[\],"usage":\{.*\n\ndata: \[DONE\]\n\n$/);
});

test('the head leaves with the first token, and the role of a chat reply with its first text', async () => {
  const messages = [{ role: 'user', content: 'a' }];
  const { writes, firstRead } = await transfer('/v1/chat/completions', {
    messages,
    max_tokens: 3,
    ...letters,
  });
  assert.equal(writes.length, 3);
  assert.match(writes[0] ?? '', /"role":"assistant","content":"".*\n\ndata: .*"content":"A"/);
  assert.match(firstRead, /^HTTP\/1\.1 200 /);
  assert.match(firstRead, /"content":"A"/);
});

test('frames are "data: " lines with a blank line between, and no comments', async () => {
  const { head, writes } = await transfer('/v1/completions', {
    prompt: 'a',
    max_tokens: 3,
    ...letters,
  });
  assert.match(head, /\r\ncontent-type: text\/event-stream; charset=utf-8\r\n/);
  assert.match(writes.join(''), /^(?:data: \{[^\n]+\}\n\n){3}data: \[DONE\]\n\n$/);
});
