/** Invalid catalogs: the value of CATALOG, and the whole message. */
export type CatalogErrorCase = [catalog: unknown, message: string];

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
const SLUG = 'must be at most 64 characters of a-z, 0-9, . and -, from a letter or digit to a letter or digit.';
const NAME = 'must be a text of 1 to 60 characters on one line, without spaces around it.';
const NO_PRICE = `${PATH}/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: `;

export const catalog = (models: object) => ({ models });
export const model = (changes: object) => catalog({ 'poster-1': { ...MODEL, ...changes } });
export const param = (size: unknown) => model({ params: { ...MODEL.params, size } });
export const input = (image: unknown) => model({ inputs: { image } });
export const text = (length: number) => 'x'.repeat(length);

/** Models, their names and upstreams. */
export const MODEL_ERRORS: CatalogErrorCase[] = [
  ['{"models": ', 'CATALOG is not valid JSON.'],
  [{ model: {} }, 'CATALOG has no field "model"; allowed fields are models, plans.'],
  [catalog([MODEL]), 'CATALOG/models must be an object.'],
  [catalog({}), 'CATALOG/models must contain a model, or be left out for the default models.'],
  [
    catalog(Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`poster-${index}`, MODEL]))),
    'CATALOG/models must contain at most 200 models.',
  ],
  [model({ hidden: true }), 'CATALOG/models must contain a model that is not hidden.'],
  [catalog({ 'Poster-1': MODEL }), `CATALOG/models: the name "Poster-1" ${SLUG}`],
  [catalog({ "poster'1": MODEL }), `CATALOG/models: the name "poster'1" ${SLUG}`],
  [catalog({ constructor: MODEL }), 'CATALOG/models: the name "constructor" is reserved, so choose another one.'],
  [catalog({ 'poster-1': 'fal:posters' }), `${PATH} must be an object.`],
  [
    model({ price: 8 }),
    `${PATH} has no field "price"; allowed fields are uuid, name, kind, description, upstreams, routing, retry_elsewhere, params, inputs, outputs, credits, sort_order, hidden, deprecated_at.`,
  ],
  [
    model({ routing: [1, 2] }),
    `${PATH}/routing must be "cheapest", or a list with a weight for each of the 1 upstreams.`,
  ],
  [model({ routing: [0] }), `${PATH}/routing must contain a weight above 0.`],
  [model({ routing: [-1] }), `${PATH}/routing/0 must be a whole number from 0 to 1000.`],
  [model({ retry_elsewhere: true }), `${PATH}/retry_elsewhere requires another upstream in ${PATH}/upstreams.`],
  [model({ uuid: '42' }), `${PATH}/uuid must be a UUID.`],
  [
    catalog({
      'poster-1': { ...MODEL, uuid: 'b0000000-0000-4000-8000-00000000000c' },
      'poster-2': { ...MODEL, uuid: 'B0000000-0000-4000-8000-00000000000c' },
    }),
    'CATALOG/models/poster-2/uuid must differ from that of poster-1.',
  ],
  [model({ name: undefined }), `${PATH}/name ${NAME}`],
  [model({ name: 'Poster\nmodel' }), `${PATH}/name ${NAME}`],
  [model({ name: text(61) }), `${PATH}/name ${NAME}`],
  [model({ kind: 'music' }), `${PATH}/kind must be one of video, image.`],
  [
    model({ description: '' }),
    `${PATH}/description must be a text of 1 to 500 characters on one line, without spaces around it.`,
  ],
  [model({ upstreams: undefined }), `${PATH}/upstreams must be a list of 1 to 5 values.`],
  [model({ upstreams: [] }), `${PATH}/upstreams must be a list of 1 to 5 values.`],
  [
    model({ upstreams: ['fal'] }),
    `${PATH}/upstreams/0 must be the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2.`,
  ],
  [model({ upstreams: ['fal:posters', 'fal:posters'] }), `${PATH}/upstreams must not contain a value twice.`],
  [
    model({ upstreams: ['fal:posters', 'mine:posters'] }),
    `${PATH}/upstreams/1 must begin with the name of an upstream (fal, openai, replicate) and a colon.`,
  ],
];

/** Prices, order and dates, and inputs of upstreams that do not fit. */
export const PRICE_ERRORS: CatalogErrorCase[] = [
  [
    model({ credits: undefined }),
    `${PATH}/credits must be a whole number of credits, or a formula of base and per_second.`,
  ],
  [
    model({ outputs: [2] }),
    `${PATH}/outputs must be a whole number from 1 to 16, the name of a parameter such as "$num_images", or a table.`,
  ],
  [model({ outputs: 17 }), `${NO_PRICE}"outputs" must be a whole number from 1 to 16, not 17.`],
  [model({ credits: 0 }), `${NO_PRICE}the price must be a whole number from 1 to 1000000, not 0.`],
  [
    model({ credits: { $by: 'resolution', '1K': 1, '2K': 1.5 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"2K","aspect_ratio":"1:1"}: the price must be a whole number from 1 to 1000000, not 1.5.`,
  ],
  [model({ credits: 1_000_001 }), `${NO_PRICE}the price must be a whole number from 1 to 1000000, not 1000001.`],
  [
    model({ credits: { $by: 'resolution', '1K': 8 } }),
    `${PATH}/credits does not fit the parameters: no price for {"resolution":"2K","aspect_ratio":"1:1"}: the table by resolution has no "2K".`,
  ],
  [
    model({ credits: { $by: 'quality', high: 8 } }),
    `${NO_PRICE}unknown variable "quality"; available are resolution, aspect_ratio.`,
  ],
  [model({ credits: { per_second: 7 } }), `${NO_PRICE}per_second requires the integer parameter "duration".`],
  [
    model({ credits: { base: 8, per_image: 2 } }),
    `${NO_PRICE}a price has no field "per_image"; allowed are base and per_second.`,
  ],
  [model({ credits: { base: 7.5 } }), `${NO_PRICE}base and per_second must be whole numbers.`],
  [
    model({
      params: { ...MODEL.params, quality: { type: 'number', minimum: 1, maximum: 9, default: 5 } },
      credits: '$quality',
    }),
    `${PATH}/credits does not fit the parameters: "quality" must be an integer or a list of values to be part of a price.`,
  ],
  [
    model({
      params: { ...MODEL.params, duration: { type: 'number', minimum: 1, maximum: 9, required: true } },
      credits: { $by: 'resolution', '1K': 8, '2K': { base: 1, per_second: 7 } },
    }),
    `${PATH}/credits does not fit the parameters: "duration" must be an integer or a list of values to be part of a price.`,
  ],
  [
    model({
      params: { ...MODEL.params, steps: { type: 'integer', minimum: 1, maximum: 1_000, default: 1 } },
      credits: { $by: 'steps', 1: 8 },
    }),
    `${PATH}/credits does not fit the parameters: "steps" has too many values to select an entry of a table.`,
  ],
  [model({ sort_order: -1 }), `${PATH}/sort_order must be a whole number from 0 to 1000000.`],
  [model({ hidden: 1 }), `${PATH}/hidden must be true or false.`],
  [model({ deprecated_at: 'next year' }), `${PATH}/deprecated_at must be a date, or an ISO 8601 time with its zone.`],
  [
    model({ params: { resolution: SIZE } }),
    `${PATH}/upstreams/0 (UPSTREAMS/models/fal:posters) does not fit {"resolution":"1K"}: unknown variable "aspect_ratio"; available are prompt, resolution.`,
  ],
  [
    model({
      upstreams: ['openai:posters'],
      params: { ...MODEL.params, resolution: { enum: ['1K', '8K'], required: true } },
    }),
    `${PATH}/upstreams/0 (UPSTREAMS/models/openai:posters) does not fit {"resolution":"8K","aspect_ratio":"1:1"}: the table by resolution and aspect_ratio has no "8K 1:1".`,
  ],
  [
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
