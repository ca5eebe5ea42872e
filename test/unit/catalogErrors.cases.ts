/** Invalid catalogs: what is wrong, the value of CATALOG, and the whole message. */
export type CatalogErrorCase = [what: string, catalog: unknown, message: string];

/** A valid model, and catalogs with a change of it. */
export const MODEL = {
  name: 'Poster model',
  kind: 'image',
  description: 'Posters from a text prompt.',
  upstreams: ['fal:posters'],
  params: { resolution: { enum: ['1K', '2K'], required: true }, aspect_ratio: { enum: ['1:1'], default: '1:1' } },
  credits: 8,
};
export const SIZE = { enum: ['1K', '2K'], required: true };
export const PATH = 'CATALOG/models/poster-1';

export const catalog = (models: object) => ({ models });
export const model = (changes: object) => catalog({ 'poster-1': { ...MODEL, ...changes } });
export const param = (size: unknown) => model({ params: { ...MODEL.params, size } });
export const input = (image: unknown) => model({ inputs: { image } });
export const text = (length: number) => 'x'.repeat(length);

/** Models, their names and upstreams. */
export const MODEL_ERRORS: CatalogErrorCase[] = [
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
  [
    'a slug that every object has',
    catalog({ constructor: MODEL }),
    'CATALOG/models: the name "constructor" is reserved, so choose another one.',
  ],
  ['a model that is a text', catalog({ 'poster-1': 'fal:posters' }), `${PATH} must be an object.`],
  [
    'an unknown field of a model',
    model({ price: 8 }),
    `${PATH} has no field "price"; allowed fields are uuid, name, kind, description, upstreams, routing, retry_elsewhere, params, inputs, outputs, credits, sort_order, hidden, deprecated_at.`,
  ],
  [
    'weights for other upstreams',
    model({ routing: [1, 2] }),
    `${PATH}/routing must be "cheapest", or a list with a weight for each of the 1 upstreams.`,
  ],
  ['weights of 0', model({ routing: [0] }), `${PATH}/routing must contain a weight above 0.`],
  ['a weight below 0', model({ routing: [-1] }), `${PATH}/routing/0 must be a whole number from 0 to 1000.`],
  [
    'a second attempt without another upstream',
    model({ retry_elsewhere: true }),
    `${PATH}/retry_elsewhere requires another upstream in ${PATH}/upstreams.`,
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
];

/** Prices, order and dates, and inputs of upstreams that do not fit. */
export const PRICE_ERRORS: CatalogErrorCase[] = [
  [
    'no price',
    model({ credits: undefined }),
    `${PATH}/credits must be a whole number of credits, or a formula of base and per_second.`,
  ],
  [
    'outputs that are no formula',
    model({ outputs: [2] }),
    `${PATH}/outputs must be a whole number from 1 to 16, the name of a parameter such as "$num_images", or a table.`,
  ],
  [
    'too many outputs',
    model({ outputs: 17 }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: "outputs" must be a whole number from 1 to 16, not 17.`,
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
    'a price by the second of a duration with fractions',
    model({
      params: { ...MODEL.params, duration: { type: 'number', minimum: 1, maximum: 9, required: true } },
      credits: { $by: 'resolution', '1K': 8, '2K': { base: 1, per_second: 7 } },
    }),
    `${PATH}/credits does not fit the parameters: "duration" must be an integer or a list of values to be part of a price.`,
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
