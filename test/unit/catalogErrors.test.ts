import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Env, loadUpstreamParser, type UpstreamParser } from '../harness/upstreamParser.ts';

const MODEL = {
  name: 'Poster model',
  kind: 'image',
  description: 'Posters from a text prompt.',
  upstreams: ['fal:posters'],
  params: { resolution: { enum: ['1K', '2K'], required: true }, aspect_ratio: { enum: ['1:1'], default: '1:1' } },
  credits: 8,
};
const SIZE = { enum: ['1K', '2K'], required: true };
const PATH = 'CATALOG/models/poster-1';

const catalog = (models: object) => ({ models });
const model = (changes: object) => catalog({ 'poster-1': { ...MODEL, ...changes } });
const param = (size: unknown) => model({ params: { ...MODEL.params, size } });
const input = (image: unknown) => model({ inputs: { image } });
const text = (length: number) => 'x'.repeat(length);

const REFUSED: [string, unknown, string][] = [
  ['a text instead of JSON', '{"models": ', 'CATALOG is not valid JSON.'],
  ['an unknown half', { model: {} }, 'CATALOG has no field "model"; allowed fields are models, plans.'],
  ['a list of models', catalog([MODEL]), 'CATALOG/models must be an object.'],
  ['no models', catalog({}), 'CATALOG/models must contain a model, or be left out for the default models.'],
  [
    'too many models',
    catalog(Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`poster-${index}`, MODEL]))),
    'CATALOG/models must contain at most 200 models.',
  ],
  ['only hidden models', model({ hidden: true }), 'CATALOG/models must contain a model that is not hidden.'],
  [
    'a slug in upper case',
    catalog({ 'Poster-1': MODEL }),
    'CATALOG/models: the name "Poster-1" must be at most 64 characters of a-z, 0-9, . and -, from a letter or digit to a letter or digit.',
  ],
  [
    'a slug with a quote',
    catalog({ "poster'1": MODEL }),
    `CATALOG/models: the name "poster'1" must be at most 64 characters of a-z, 0-9, . and -, from a letter or digit to a letter or digit.`,
  ],
  ['a model that is a text', catalog({ 'poster-1': 'fal:posters' }), `${PATH} must be an object.`],
  [
    'an unknown field of a model',
    model({ price: 8 }),
    `${PATH} has no field "price"; allowed fields are uuid, name, kind, description, upstreams, params, inputs, credits, sort_order, hidden, deprecated_at.`,
  ],
  ['a UUID in another form', model({ uuid: '42' }), `${PATH}/uuid must be a UUID.`],
  [
    'the same UUID twice',
    catalog({
      'poster-1': { ...MODEL, uuid: 'b0000000-0000-4000-8000-000000000001' },
      'poster-2': { ...MODEL, uuid: 'b0000000-0000-4000-8000-000000000001' },
    }),
    'CATALOG/models/poster-2/uuid must differ from that of poster-1.',
  ],
  [
    'no name',
    model({ name: undefined }),
    `${PATH}/name must be a text of 1 to 60 characters on one line, without spaces around it.`,
  ],
  [
    'a name with a line break',
    model({ name: 'Poster\nmodel' }),
    `${PATH}/name must be a text of 1 to 60 characters on one line, without spaces around it.`,
  ],
  [
    'a name that is too long',
    model({ name: text(61) }),
    `${PATH}/name must be a text of 1 to 60 characters on one line, without spaces around it.`,
  ],
  ['an unknown kind', model({ kind: 'music' }), `${PATH}/kind must be one of video, image.`],
  [
    'no description',
    model({ description: '' }),
    `${PATH}/description must be a text of 1 to 500 characters on one line, without spaces around it.`,
  ],
  ['no upstreams', model({ upstreams: undefined }), `${PATH}/upstreams must be a list of 1 to 5 values.`],
  ['an empty list of upstreams', model({ upstreams: [] }), `${PATH}/upstreams must be a list of 1 to 5 values.`],
  [
    'an upstream without a model',
    model({ upstreams: ['fal'] }),
    `${PATH}/upstreams/0 must be the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2.`,
  ],
  [
    'the same upstream twice',
    model({ upstreams: ['fal:posters', 'fal:posters'] }),
    `${PATH}/upstreams must not contain a value twice.`,
  ],
  [
    'an upstream that is not configured',
    model({ upstreams: ['fal:posters', 'mine:posters'] }),
    `${PATH}/upstreams/1 must begin with the name of an upstream (fal, openai, replicate) and a colon.`,
  ],
  ['no params', model({ params: undefined }), `${PATH}/params must be an object.`],
  [
    'too many params',
    model({ params: Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`size_${index}`, SIZE])) }),
    `${PATH}/params must contain at most 30 parameters.`,
  ],
  [
    'a param in upper case',
    model({ params: { Size: SIZE } }),
    `${PATH}/params: the name "Size" must be at most 40 characters of a-z, 0-9 and _, with a letter first.`,
  ],
  [
    'a param called prompt',
    model({ params: { prompt: SIZE } }),
    `${PATH}/params/prompt must have another name: requests have a field with this name.`,
  ],
  ['a param that is a list', param(['1K']), `${PATH}/params/size must be an object.`],
  [
    'an unknown field of a param',
    param({ enum: ['S'], optional: true }),
    `${PATH}/params/size has no field "optional"; allowed fields are enum, type, minimum, maximum, default, required, description.`,
  ],
  [
    'a param without values',
    param({}),
    `${PATH}/params/size must have either "enum", with the accepted values, or "type".`,
  ],
  [
    'a param with a list and a type',
    param({ enum: ['S'], type: 'string' }),
    `${PATH}/params/size must have either "enum", with the accepted values, or "type".`,
  ],
  ['an empty list of values', param({ enum: [] }), `${PATH}/params/size/enum must be a list of 1 to 100 values.`],
  [
    'values of two types',
    param({ enum: ['S', 1] }),
    `${PATH}/params/size/enum must contain only numbers, or only texts of 1 to 100 characters.`,
  ],
  [
    'an empty value',
    param({ enum: ['S', ''] }),
    `${PATH}/params/size/enum must contain only numbers, or only texts of 1 to 100 characters.`,
  ],
  ['a value twice', param({ enum: ['S', 'S'] }), `${PATH}/params/size/enum must not contain a value twice.`],
  [
    'limits beside a list',
    param({ enum: [1, 2], maximum: 2 }),
    `${PATH}/params/size/maximum must be left out beside "enum".`,
  ],
  [
    'an unknown type',
    param({ type: 'array' }),
    `${PATH}/params/size/type must be one of integer, number, boolean, string.`,
  ],
  [
    'limits of a boolean',
    param({ type: 'boolean', minimum: 0 }),
    `${PATH}/params/size/minimum must be left out for a boolean.`,
  ],
  [
    'an integer without a minimum',
    param({ type: 'integer', maximum: 9 }),
    `${PATH}/params/size/minimum must be a whole number from -1000000000 to 1000000000.`,
  ],
  [
    'an integer up to a fraction',
    param({ type: 'integer', minimum: 1, maximum: 9.5 }),
    `${PATH}/params/size/maximum must be a whole number from -1000000000 to 1000000000.`,
  ],
  [
    'a number without a maximum',
    param({ type: 'number', minimum: 0 }),
    `${PATH}/params/size/maximum must be a number from -1000000000 to 1000000000.`,
  ],
  [
    'a text without a maximum length',
    param({ type: 'string' }),
    `${PATH}/params/size/maximum must be a whole number from 0 to 2000.`,
  ],
  [
    'a minimum above the maximum',
    param({ type: 'integer', minimum: 9, maximum: 1 }),
    `${PATH}/params/size/minimum must be at most the maximum.`,
  ],
  [
    'a default that is not in the list',
    param({ enum: ['S', 'M'], default: 'L' }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [
    'a default outside of the limits',
    param({ type: 'integer', minimum: 1, maximum: 9, default: 10 }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [
    'a default of another type',
    param({ type: 'boolean', default: 'no' }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [
    'a required that is a text',
    param({ enum: ['S'], required: 'yes' }),
    `${PATH}/params/size/required must be true or false.`,
  ],
  [
    'a default of a required param',
    param({ enum: ['S'], required: true, default: 'S' }),
    `${PATH}/params/size/default must be left out, because the parameter is required.`,
  ],
  [
    'a description that is too long',
    param({ enum: ['S'], description: text(301) }),
    `${PATH}/params/size/description must be a text of 1 to 300 characters on one line, without spaces around it.`,
  ],
  [
    'an input with the name of a param',
    model({ inputs: { resolution: { role: 'reference' } } }),
    `${PATH}/inputs/resolution must differ from the names in params.`,
  ],
  [
    'an unknown role',
    input({ role: 'mask' }),
    `${PATH}/inputs/image/role must be one of first_frame, last_frame, reference.`,
  ],
  [
    'two inputs with one role',
    model({ inputs: { first: { role: 'reference' }, other: { role: 'reference' } } }),
    `${PATH}/inputs/other/role must differ from that of the other inputs.`,
  ],
  [
    'several first frames',
    input({ role: 'first_frame', max: 2 }),
    `${PATH}/inputs/image/max must be a whole number from 1 to 1.`,
  ],
  [
    'no price',
    model({ credits: undefined }),
    `${PATH}/credits must be a whole number of credits, or a formula of base and per_second.`,
  ],
  [
    'a price of 0',
    model({ credits: 0 }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: the price must be a whole number from 1 to 1000000, not 0.`,
  ],
  [
    'a fraction of a credit',
    model({ credits: { $by: 'resolution', '1K': 1, '2K': 1.5 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"2K","aspect_ratio":"1:1"}: the price must be a whole number from 1 to 1000000, not 1.5.`,
  ],
  [
    'a price that is too high',
    model({ credits: 1_000_001 }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: the price must be a whole number from 1 to 1000000, not 1000001.`,
  ],
  [
    'a price table without a value',
    model({ credits: { $by: 'resolution', '1K': 8 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"2K","aspect_ratio":"1:1"}: the table by resolution has no "2K".`,
  ],
  [
    'a price by an unknown param',
    model({ credits: { $by: 'quality', high: 8 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: unknown variable "quality"; available are resolution, aspect_ratio.`,
  ],
  [
    'a price by the second without a duration',
    model({ credits: { per_second: 7 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: per_second requires the integer parameter "duration".`,
  ],
  [
    'an unknown part of a price',
    model({ credits: { base: 8, per_image: 2 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: a price has no field "per_image"; allowed are base and per_second.`,
  ],
  [
    'a fractional part of a price',
    model({ credits: { base: 7.5 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: base and per_second must be whole numbers.`,
  ],
  [
    'a price that is a number with a fraction',
    model({
      params: { ...MODEL.params, quality: { type: 'number', minimum: 1, maximum: 9, default: 5 } },
      credits: '$quality',
    }),
    `${PATH}/credits does not fit the parameters: "quality" must be an integer or a list of values to be part of a price.`,
  ],
  [
    'a price table by a wide range',
    model({
      params: { ...MODEL.params, steps: { type: 'integer', minimum: 1, maximum: 1_000, default: 1 } },
      credits: { $by: 'steps', 1: 8 },
    }),
    `${PATH}/credits does not fit the parameters: "steps" has too many values to select an entry of a table.`,
  ],
  ['a negative order', model({ sort_order: -1 }), `${PATH}/sort_order must be a whole number from 0 to 1000000.`],
  ['a hidden that is a number', model({ hidden: 1 }), `${PATH}/hidden must be true or false.`],
  [
    'a date in words',
    model({ deprecated_at: 'next year' }),
    `${PATH}/deprecated_at must be a date, or an ISO 8601 time with its zone.`,
  ],
  [
    'params that the input of the upstream lacks',
    model({ params: { resolution: SIZE } }),
    `${PATH}/upstreams/0 (UPSTREAMS/models/fal:posters) does not fit {"resolution":"1K"}: unknown variable "aspect_ratio"; available are prompt, resolution.`,
  ],
  [
    'a value that the table of the upstream lacks',
    model({
      upstreams: ['openai:posters'],
      params: { ...MODEL.params, resolution: { enum: ['1K', '8K'], required: true } },
    }),
    `${PATH}/upstreams/0 (UPSTREAMS/models/openai:posters) does not fit {"resolution":"8K","aspect_ratio":"1:1"}: the table by resolution and aspect_ratio has no "8K 1:1".`,
  ],
  [
    'an optional param in a text of the upstream',
    model({
      kind: 'video',
      params: {
        ...MODEL.params,
        audio: { type: 'boolean', default: false },
        duration: { type: 'integer', minimum: 1, maximum: 3 },
      },
    }),
    `${PATH}/upstreams/0 (UPSTREAMS/models/fal:posters) does not fit {"resolution":"1K","aspect_ratio":"1:1","audio":true}: "duration" may be absent, so it cannot be part of a text.`,
  ],
];

describe('an invalid CATALOG', () => {
  let parser: UpstreamParser;
  let folder: string;
  before(async () => {
    parser = await loadUpstreamParser();
    folder = await mkdtemp(join(tmpdir(), 'genmeter-catalog-'));
  });
  after(() => rm(folder, { recursive: true }));

  const getError = (CATALOG: unknown, env: Env = {}) =>
    parser.getError({ CATALOG: typeof CATALOG === 'string' ? CATALOG : JSON.stringify(CATALOG), ...env });

  for (const [what, value, message] of REFUSED) {
    it(`is rejected for ${what}, with one sentence that names the path`, () => {
      expect(getError(value)).to.equal(message);
    });
  }

  it('is accepted without any of these errors', () => {
    expect(getError(model({}))).to.equal('nothing');
  });

  it('may be a file with variables, and an error names what is missing', async () => {
    const file = join(folder, 'catalog.json');
    await writeFile(file, JSON.stringify(model({ name: '${MODEL_NAME}' })));
    expect(getError(file, { MODEL_NAME: 'Poster model' })).to.equal('nothing');
    expect(getError(file)).to.equal('MODEL_NAME is not set, but CATALOG refers to it.');
    expect(getError(join(folder, 'missing.json'))).to.equal(
      'CATALOG must be JSON or the name of a file that can be read (ENOENT).',
    );
  });
});
