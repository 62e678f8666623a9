import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get } from '../testing/http-client.ts';
import { rawStorm, storm } from '../testing/request-storm.ts';
import { eventually, isIdle, startTestApp } from '../testing/test-app.ts';

const chatTemplate = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}';

test('requests generated from the OpenAPI document get valid answers and never a 5xx', async () => {
  const app = await startTestApp({ model: { chatTemplate } });
  try {
    const accepted = await storm(app, 800, 1);
    assert.ok(accepted > 80, `${accepted} were accepted`);
    await eventually(() => isIdle(app), 'every block is free');
  } finally {
    await app.close();
  }
});

test('broken HTTP never stops the server', async () => {
  const app = await startTestApp();
  try {
    await rawStorm(app, 400, 1);
    await eventually(() => isIdle(app), 'every block is free');
    assert.equal((await get(app, '/health')).status, 200);
  } finally {
    await app.close();
  }
});
