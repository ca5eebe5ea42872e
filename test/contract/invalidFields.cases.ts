import { CREATE } from '../harness/invalidRequests.ts';

const image = (params: unknown, rest: object = {}) => ({ model: 'imgmodel-2', prompt: 'a', params, ...rest });

const video = (params: object) => ({ model: 'vidmodel-video', prompt: 'a', params });

/** Values that every field rejects: wrong types, and text that cannot be stored. */
export const INVALID_VALUES: [string, string][] = [
  ['null', 'null'],
  ['an array', '["x"]'],
  ['an object', '{"x": 1}'],
  ['true', 'true'],
  ['5.5', '5.5'],
  ['-0', '-0'],
  ['1e309', '1e309'],
  ['a NUL', '"a\\u0000b"'],
  ['half a surrogate pair', '"\\ud800"'],
  ['the other half', '"\\udc00"'],
  ['the halves in the wrong order', '"\\udc00\\ud800"'],
  ['a replacement character', '"a\\ufffdb"'],
];

/** Every field, with a body template in which `?` stands for its value. */
export const FIELDS: [string, string, string, string][] = [
  ['POST', CREATE, 'model', '{"model": ?, "prompt": "a", "params": {"resolution": "1K"}}'],
  ['POST', CREATE, 'prompt', '{"model": "imgmodel-2", "prompt": ?, "params": {"resolution": "1K"}}'],
  ['POST', CREATE, 'params.resolution', '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": ?}}'],
  [
    'POST',
    CREATE,
    'params.aspect_ratio',
    '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "aspect_ratio": ?}}',
  ],
  [
    'POST',
    CREATE,
    'params.duration',
    '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": ?, "resolution": "720p"}}',
  ],
  [
    'POST',
    CREATE,
    'params.resolution',
    '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": 5, "resolution": ?}}',
  ],
  [
    'POST',
    CREATE,
    'params.aspect_ratio',
    '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": 5, "resolution": "720p", "aspect_ratio": ?}}',
  ],
  [
    'POST',
    CREATE,
    'webhook_url',
    '{"webhook_url": ?, "model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K"}}',
  ],
  ['POST', '/api/keys/create/', 'name', '{"name": ?}'],
  ['POST', '/api/webhooks/create/', 'url', '{"url": ?}'],
  ['POST', '/api/webhooks/create/', 'events', '{"url": "https://example.com/", "events": [?]}'],
  ['POST', '/api/webhooks/create/', 'description', '{"url": "https://example.com/", "description": ?}'],
  ['PATCH', '/api/webhooks/:uuid/', 'url', '{"url": ?}'],
  ['PATCH', '/api/webhooks/:uuid/', 'description', '{"description": ?}'],
  ['POST', '/api/billing/checkout/', 'plan', '{"plan": ?}'],
  ['POST', '/api/billing/topup/', 'amount_cents', '{"amount_cents": ?}'],
  [
    'PATCH',
    '/api/billing/topup/settings/',
    'auto_topup_amount_cents',
    '{"auto_topup_threshold_credits": 5, "auto_topup_amount_cents": ?}',
  ],
  ['POST', '/authentication/onboarding/advance/', 'step_completed', '{"step_completed": ?}'],
  [
    'POST',
    '/authentication/onboarding/advance/',
    'data.first_name',
    '{"step_completed": "profile", "data": {"first_name": ?}}',
  ],
  ['PATCH', '/authentication/me/', 'first_name', '{"first_name": ?}'],
  ['PATCH', '/authentication/me/', 'use_case', '{"use_case": ?}'],
  ['PATCH', '/authentication/me/', 'language', '{"language": ?}'],
];

/** Bodies of creates, with the name of the invalid field. */
export const INVALID_CREATES: [string, unknown][] = [
  ['model', { prompt: 'a', params: {} }],
  ['model', { ...image({ resolution: '1K' }), model: 'Image model' }],
  ['model', { ...image({ resolution: '1K' }), model: 'imgmodel-2 ' }],
  ['model', { ...image({ resolution: '1K' }), model: 'constructor' }],
  ['prompt', { model: 'imgmodel-2', params: { resolution: '1K' } }],
  ['params', { model: 'imgmodel-2', prompt: 'a' }],
  ['params', image([])],
  ['params', image('{"resolution": "1K"}')],
  ['params', image(null)],
  ['params.resolution', image({})],
  ['params.resolution', image({ resolution: '1k' })],
  ['params.resolution', image({ resolution: '720p' })],
  ['params.aspect_ratio', image({ resolution: '1K', aspect_ratio: '4:3' })],
  ['params.duration', image({ resolution: '1K', duration: 5 })],
  ['params.audio', image({ resolution: '1K', audio: false })],
  ['params.constructor', image({ resolution: '1K', constructor: 1 })],
  ['params.toString', image({ resolution: '1K', toString: 1 })],
  ['seed', image({ resolution: '1K' }, { seed: 5 })],
  ['constructor', image({ resolution: '1K' }, { constructor: { prototype: {} } })],
  ['params.duration', video({ resolution: '720p' })],
  ['params.duration', video({ duration: '5', resolution: '720p' })],
  ['params.duration', video({ duration: 0, resolution: '720p' })],
  ['params.duration', video({ duration: 7, resolution: '720p' })],
  ['params.duration', video({ duration: -5, resolution: '720p' })],
  ['params.duration', video({ duration: 1e21, resolution: '720p' })],
  ['params.resolution', video({ duration: 5 })],
  ['params.resolution', video({ duration: 5, resolution: '4K' })],
  ['params.resolution', video({ duration: 5, resolution: 720 })],
  ['params.audio', video({ duration: 5, resolution: '720p', audio: 'true' })],
  ['params.audio', video({ duration: 5, resolution: '720p', audio: 1 })],
  ['params.audio', video({ duration: 5, resolution: '720p', audio: null })],
  ['params.aspect_ratio', video({ duration: 5, resolution: '720p', aspect_ratio: '1:1' })],
  ['params.aspect_ratio', video({ duration: 5, resolution: '720p', aspect_ratio: null })],
];
