import { type CatalogErrorCase, input, MODEL, model, param, PATH, SIZE, text } from './catalogErrors.cases.ts';

const UNSTORABLE = 'CATALOG must not contain \\u0000 or half of a surrogate pair, which no database can store.';

const ENUM_VALUES = `${PATH}/params/size/enum must be a list of 1 to 100 different numbers, or of as many different texts of 1 to 100 characters.`;

/** Parameters and inputs. */
export const PARAM_ERRORS: CatalogErrorCase[] = [
  [model({ params: undefined }), `${PATH}/params must be an object.`],
  [
    model({ params: Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`size_${index}`, SIZE])) }),
    `${PATH}/params must contain at most 30 parameters.`,
  ],
  [
    model({ params: { Size: SIZE } }),
    `${PATH}/params: the name "Size" must be at most 40 characters of a-z, 0-9 and _, with a letter first.`,
  ],
  [
    model({ params: { prompt: SIZE } }),
    `${PATH}/params/prompt must have another name: requests have a field with this name.`,
  ],
  [
    model({ params: { constructor: SIZE } }),
    `${PATH}/params: the name "constructor" is reserved, so choose another one.`,
  ],
  [
    JSON.stringify(model({ params: { size: SIZE } })).replace('"size"', '"__proto__"'),
    `${PATH}/params: the name "__proto__" must be at most 40 characters of a-z, 0-9 and _, with a letter first.`,
  ],
  [param({ enum: ['S\u0000'] }), UNSTORABLE],
  [param({ enum: ['S\ud83d'] }), UNSTORABLE],
  [param(['1K']), `${PATH}/params/size must be an object.`],
  [
    param({ enum: ['S'], optional: true }),
    `${PATH}/params/size has no field "optional"; allowed fields are enum, default, required, description.`,
  ],
  [param({}), `${PATH}/params/size must have either "enum", with the accepted values, or "type".`],
  [
    param({ enum: ['S'], type: 'string' }),
    `${PATH}/params/size has no field "type"; allowed fields are enum, default, required, description.`,
  ],
  [param({ enum: [] }), ENUM_VALUES],
  [param({ enum: ['S', 1] }), ENUM_VALUES],
  [param({ enum: ['S', ''] }), ENUM_VALUES],
  [param({ enum: ['S', 'S'] }), ENUM_VALUES],
  [
    param({ enum: [1, 2], maximum: 2 }),
    `${PATH}/params/size has no field "maximum"; allowed fields are enum, default, required, description.`,
  ],
  [param({ type: 'array' }), `${PATH}/params/size/type must be one of integer, number, boolean, string.`],
  [
    param({ type: 'boolean', minimum: 0 }),
    `${PATH}/params/size has no field "minimum"; allowed fields are type, default, required, description.`,
  ],
  [
    param({ type: 'integer', maximum: 9 }),
    `${PATH}/params/size/minimum must be a whole number from -4294967295 to 4294967295.`,
  ],
  [
    param({ type: 'integer', minimum: 1, maximum: 9.5 }),
    `${PATH}/params/size/maximum must be a whole number from -4294967295 to 4294967295.`,
  ],
  [
    param({ type: 'number', minimum: 0 }),
    `${PATH}/params/size/maximum must be a number from -4294967295 to 4294967295.`,
  ],
  [param({ type: 'string' }), `${PATH}/params/size/maximum must be a whole number from 0 to 2000.`],
  [param({ type: 'integer', minimum: 9, maximum: 1 }), `${PATH}/params/size/minimum must be at most the maximum.`],
  [
    param({ enum: ['S', 'M'], default: 'L' }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [
    param({ type: 'integer', minimum: 1, maximum: 9, default: 10 }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [
    param({ type: 'boolean', default: 'no' }),
    `${PATH}/params/size/default must be a value that the parameter accepts.`,
  ],
  [param({ enum: ['S'], required: 'yes' }), `${PATH}/params/size/required must be true or false.`],
  [
    param({ enum: ['S'], required: true, default: 'S' }),
    `${PATH}/params/size/default must be left out, because the parameter is required.`,
  ],
  [
    param({ enum: ['S'], description: text(301) }),
    `${PATH}/params/size/description must be a text of 1 to 300 characters on one line, without spaces around it.`,
  ],
  [
    model({ inputs: { resolution: { role: 'reference' } } }),
    `${PATH}/inputs/resolution must differ from the names in params.`,
  ],
  [input({ role: 'sound' }), `${PATH}/inputs/image/role must be one of first_frame, last_frame, reference, mask.`],
  [
    model({ inputs: { first: { role: 'reference' }, other: { role: 'reference' } } }),
    `${PATH}/inputs/other/role must differ from that of the other inputs.`,
  ],
  [
    model({ params: { ...MODEL.params, reference: SIZE }, inputs: { image: { role: 'reference' } } }),
    `${PATH}/inputs/image/role must not be the name of a parameter: "$reference" would be both in templates.`,
  ],
  [
    input({ role: 'first_frame', max: 2 }),
    `${PATH}/inputs/image/max must be 1: only the role reference takes several images.`,
  ],
  [input({ role: 'reference', max: 31 }), `${PATH}/inputs/image/max must be a whole number from 1 to 30.`],
];
