import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get } from '../testing/http-client.ts';
import { rawStorm, storm } from '../testing/request-storm.ts';
import { eventually, isIdle, startTestApp } from '../testing/test-app.ts';

const chatTemplate = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}';

test('requests generated from the OpenAPI document get valid answers and never a 5xx', async () => {
  const app = await startTestApp({ model: { chatTemplate } });
  try {
    const accepted = await storm(app, 20_000, Number(process.hrtime.bigint() % 1_000_000n));
    assert.ok(accepted > 2000, `${accepted} were accepted`);
    await eventually(() => isIdle(app), 'every block is free');
  } finally {
    await app.close();
  }
});

test('broken HTTP never stops the server', async () => {
  const app = await startTestApp();
  try {
    await rawStorm(app, 5000, Number(process.hrtime.bigint() % 1_000_000n));
    await eventually(() => isIdle(app), 'every block is free');
    assert.equal((await get(app, '/health')).status, 200);
  } finally {
    await app.close();
  }
});
