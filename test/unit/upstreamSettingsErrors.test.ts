import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { getEnvError } from '../harness/upstreamParser.ts';
import { useFolder } from '../harness/useFolder.ts';

const SECRET = 'sk-do-not-print-5f1e';

describe('the upstreams of an invalid UPSTREAMS', () => {
  const folder = useFolder();
  const upstream = (more: object, name = 'mine') => ({ upstreams: { [name]: { key: SECRET, ...more } } });
  const good = { adapter: 'openai', base_url: 'https://a.example' };
  const model = (table: unknown) => ({ ...upstream(good), models: { 'fal:fal-ai/nano-banana-2': table } });

  for (const name of ['openai:gpt-image-1', 'openai:gpt-image-1.5', 'gateway:openai/gpt-image-1-mini']) {
    it(`are rejected for ${name}, which does not make the sizes of its model`, () => {
      const upstreams = JSON.stringify({ upstreams: { gateway: { ...good, key: SECRET } } });
      expect(getEnvError({ UPSTREAMS: upstreams, IMAGE_UPSTREAM: name })).to.match(
        /^UPSTREAMS\/models\/\S+ does not fit \{.+\}: \S*gpt-image-1\S* does not make images of 1376x768\.$/,
      );
    });
  }

  for (const size of ['4096x4096', '1920x1080', '3840x1024', '512x512', '3856x2144']) {
    it(`are rejected for images of ${size} by gpt-image-2`, () => {
      const models = { 'openai:gpt-image-2': { input: { prompt: '$prompt', size } } };
      const env = { UPSTREAMS: JSON.stringify({ models }), IMAGE_UPSTREAM: 'openai:gpt-image-2' };
      expect(getEnvError(env)).to.include(`gpt-image-2 does not make images of ${size}.`);
    });
  }

  it('are rejected for several videos of fal, whose response has one', () => {
    const offered = { name: 'M', kind: 'video', description: 'M.', params: {}, credits: 2, outputs: 2 };
    const models = { 'fal:owner/model': { input: { prompt: '$prompt' } } };
    const catalog = { models: { m: { ...offered, upstreams: ['fal:owner/model'] } } };
    expect(getEnvError({ UPSTREAMS: JSON.stringify({ models }), CATALOG: JSON.stringify(catalog) })).to.include(
      '"outputs" must be 1, because the adapter fal takes one file of a response',
    );
  });

  for (const [field, value] of [
    ['n', 2],
    ['num_images', '$count'],
    ['num_outputs', '{count}'],
  ] as const) {
    it(`are rejected for an input with several files, unless the customer pays for each: ${field} ${value}`, () => {
      const models = { 'fal:owner/model': { input: { prompt: '$prompt', [field]: value } } };
      const params = { count: { type: 'integer', minimum: 1, maximum: 4, default: 1 } };
      const offered = {
        name: 'M',
        kind: 'image',
        description: 'M.',
        upstreams: ['fal:owner/model'],
        params,
        credits: 2,
      };
      const env = { UPSTREAMS: JSON.stringify({ models }), CATALOG: JSON.stringify({ models: { m: offered } }) };
      expect(getEnvError(env)).to.include('but "outputs" of the model is 1: the customer pays for each file');
      expect(getEnvError({ ...env, UPSTREAMS: env.UPSTREAMS.replace(`"${value}"`, '1').replace(':2', ':1') })).to.equal(
        'nothing',
      );
      const outputs = typeof value === 'number' ? value : '$count';
      expect(getEnvError({ ...env, CATALOG: JSON.stringify({ models: { m: { ...offered, outputs } } }) })).to.equal(
        'nothing',
      );
    });
  }

  const refused: [string, unknown, RegExp][] = [
    ['an upstream without anything', upstream({}), /^UPSTREAMS\/upstreams\/mine must have/],
    ['an upstream without an adapter', upstream({ base_url: 'https://a' }), /^UPSTREAMS\/upstreams\/mine must have/],
    ['an upstream without an address', upstream({ adapter: 'fal' }), /^UPSTREAMS\/upstreams\/mine must have/],
    ['an unknown adapter', upstream({ ...good, adapter: 'runway' }), /UPSTREAMS\/upstreams\/mine\/adapter must be/],
    ['an invalid address', upstream({ ...good, base_url: 'a.example' }), /UPSTREAMS\/upstreams\/mine\/base_url/],
    ['an address that only begins as one', upstream({ ...good, base_url: 'https://[' }), /UPSTREAMS\/upstreams\/mine/],
    ['an address of files', upstream({ ...good, base_url: 'file:///etc' }), /UPSTREAMS\/upstreams\/mine\/base_url/],
    ['an empty key', upstream({ ...good, key: '' }), /UPSTREAMS\/upstreams\/mine\/key/],
    [
      'a key that is no text',
      upstream({ ...good, key: [SECRET] }),
      /UPSTREAMS\/upstreams\/mine\/key must be the key itself/,
    ],
    [
      'no jobs at a time',
      upstream({ ...good, concurrency: 0 }),
      /UPSTREAMS\/upstreams\/mine\/concurrency must be a whole number from 1/,
    ],
    ['half a job a minute', upstream({ ...good, per_minute: 0.5 }), /UPSTREAMS\/upstreams\/mine\/per_minute must be/],
    [
      'a switch that is a text',
      upstream({ ...good, local: 'yes' }),
      /UPSTREAMS\/upstreams\/mine\/local must be true or false/,
    ],
    [
      'a form that is a number',
      upstream({ ...good, form: 1 }),
      /UPSTREAMS\/upstreams\/mine\/form must be true or false/,
    ],
    ['a field that does not exist', upstream({ ...good, url: SECRET }), /^UPSTREAMS\/upstreams\/mine has no field/],
    ['an invalid name', upstream(good, 'My Gateway'), /^UPSTREAMS\/upstreams: the name/],
    ['a list of upstreams', { upstreams: [{ key: SECRET }] }, /^UPSTREAMS\/upstreams must be an object/],
    ['a word too many', { ...upstream(good), model: {} }, /^UPSTREAMS has no field/],
    [
      'a negative price',
      model({ cents: -1 }),
      /UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2\/cents must be a number from 0/,
    ],
    ['a price that is a text', model({ cents: '8' }), /UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2\/cents/],
    ['an input that is a text', model({ input: '$prompt' }), /UPSTREAMS\/models\/\S+\/input must be an object/],
    ['a field of a model that does not exist', model({ price: 8 }), /^UPSTREAMS\/models\/\S+ has no field/],
  ];
  for (const [what, value, message] of refused) {
    it(`are rejected for ${what}, with the path and without the key`, () => {
      const said = getEnvError({ UPSTREAMS: JSON.stringify(value) });
      expect(said).to.match(message).and.match(/\.$/);
      expect(said).to.not.include(SECRET);
    });
  }

  it('are rejected with all errors at once', () => {
    const UPSTREAMS = JSON.stringify(upstream({ ...good, adapter: 'runway', concurrency: 0, local: 1 }));
    const said = getEnvError({ UPSTREAMS });
    for (const field of ['adapter', 'concurrency', 'local'])
      expect(said).to.include(`UPSTREAMS/upstreams/mine/${field}`);
  });

  const misfits: [string, unknown, RegExp][] = [
    [
      'a table that misses a combination',
      { cents: { $by: 'resolution aspect_ratio', '1K 16:9': 1, '1K 1:1': 1 } },
      /^UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2 does not fit {"resolution":"1K","aspect_ratio":"9:16"}: the table by resolution and aspect_ratio has no "1K 9:16"\.$/,
    ],
    [
      'an input that asks for what an image does not have',
      { input: { text: '$prompt', seconds: '{duration}' } },
      /^UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2 does not fit .+: unknown variable "duration"; available are prompt, resolution, aspect_ratio\.$/,
    ],
    [
      'a price that is invalid for some params',
      { cents: { $by: 'resolution', '1K': 8, '2K': 12, '4K': 'a lot' } },
      /^UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2 does not fit {"resolution":"4K".+: a price must be a number from 0 to 100000, not "a lot"\.$/,
    ],
    [
      'a negative price in a table',
      { cents: { $by: 'resolution', '1K': 8, '2K': -12, '4K': 16 } },
      /^UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2 does not fit {"resolution":"2K".+: a price must be a number from 0 to 100000, not -12\.$/,
    ],
    [
      'a price by the second of what has no duration',
      { cents_per_second: { $by: 'resolution', '1K': 0, '2K': 0, '4K': 1 } },
      /^UPSTREAMS\/models\/\S+ does not fit {"resolution":"4K".+: cents_per_second requires the parameter "duration", a number\.$/,
    ],
    [
      'an input that is invalid for some params',
      { input: { $by: 'resolution', '1K': { text: '$prompt' }, '2K': '$prompt', '4K': { text: '$prompt' } } },
      /^UPSTREAMS\/models\/fal:fal-ai\/nano-banana-2 does not fit {"resolution":"2K".+\.$/,
    ],
    [
      'a price that is left out',
      { cents: { $by: 'resolution', '1K': null, '2K': 1, '4K': 1 } },
      /^UPSTREAMS\/models\/\S+ does not fit .+: a price must be a number from 0 to 100000, not null\.$/,
    ],
  ];
  for (const [what, table, message] of misfits) {
    it(`are tested with all params, and rejected for ${what}`, () => {
      const UPSTREAMS = JSON.stringify({ ...upstream(good), models: { 'fal:fal-ai/nano-banana-2': table } });
      const said = getEnvError({ UPSTREAMS });
      expect(said).to.match(message);
      expect(said).to.not.include(SECRET);
    });
  }

  it('are tested for the fallback as for the first choice', () => {
    const models = { 'replicate:owner/name': { input: { prompt: '$size' } } };
    const env = { UPSTREAMS: JSON.stringify({ models }), VIDEO_UPSTREAM_FALLBACK: 'replicate:owner/name' };
    expect(getEnvError(env)).to.match(
      /^UPSTREAMS\/models\/replicate:owner\/name does not fit .+: unknown variable "size"/,
    );
  });

  const unreadable = [
    `{"upstreams":{"mine":{"key":"${SECRET}"}}`,
    `{"upstreams":{"mine":{"key":${SECRET}}}}`,
    `{"upstreams":{"mine":{"key":"${SECRET}",}}}`,
    `{${SECRET}}`,
    `{"key": '${SECRET}'}`,
    `{"key": "${SECRET}\n"}`,
  ];
  for (const UPSTREAMS of unreadable) {
    it(`are rejected as invalid JSON without the key: ${JSON.stringify(UPSTREAMS)}`, () => {
      const said = getEnvError({ UPSTREAMS });
      expect(said).to.match(/^UPSTREAMS is not valid JSON.*\.$/);
      expect(said).to.not.include(SECRET).and.not.include(SECRET.slice(0, 10));
    });
  }

  it('are rejected if the file is not JSON, without the key', async () => {
    const file = join(folder, 'broken.json');
    await writeFile(file, `{"key": ${SECRET}}`);
    const said = getEnvError({ UPSTREAMS: file });
    expect(said).to.match(/^UPSTREAMS is not valid JSON.*\.$/);
    expect(said).to.not.include(SECRET.slice(0, 10));
  });

  it('are rejected if the file cannot be read', () => {
    const said = getEnvError({ UPSTREAMS: join(folder, 'missing.json') });
    expect(said).to.match(/^UPSTREAMS must be JSON or the name of a file that can be read .*ENOENT.*\.$/);
  });

  // Some tools keep the quotes around a value when they set a variable.
  for (const UPSTREAMS of [`'{"key":"${SECRET}"}'`, `"{'key':'${SECRET}'}"`, `[{"key":"${SECRET}"}]`, SECRET]) {
    it(`does not print the key if the value may be a file name: ${UPSTREAMS}`, () => {
      const said = getEnvError({ UPSTREAMS });
      expect(said).to.match(/^UPSTREAMS must be JSON or the name of a file/);
      expect(said).to.not.include(SECRET);
    });
  }

  it('are rejected if it is a list or a string instead of an object', () => {
    for (const text of ['[]', '"a"', '7']) expect(getEnvError({ UPSTREAMS: text })).to.match(/^UPSTREAMS /);
  });
});
