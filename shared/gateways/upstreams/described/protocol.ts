import Type, { type Static } from 'typebox';
import type { Template } from '../../../lib/template.ts';
import { ModelSettings } from '../modelSettings.ts';

/**
 * Description of a provider's protocol as data: the field `protocol` of an upstream with the adapter `http`, and the
 * descriptions in `providers`. docs/upstreams.md is its reference.
 */

const strict = { additionalProperties: false };

const AnyTemplate = (options: object = {}) => Type.Unsafe<Template>({ ...Type.Any(), ...options });
const ObjectTemplate = Type.Unsafe<{ [field: string]: Template }>(Type.Object({}));
const Texts = Type.Record(Type.String(), Type.String());

/** JSON pointer in which `*` stands for every entry of a list or an object, or `header:` and a name. */
const Pointer = Type.String({
  pattern: '^(?:/\\S*|header:[a-z0-9-]+)$',
  description: 'a JSON pointer such as /data/*/url, or header:name',
});
const Pointers = Type.Array(Pointer, { minItems: 1 });
const Path = AnyTemplate({ description: 'a path such as /videos/{id}, or a table with "$by"' });

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A request. All texts are templates. */
const REQUEST = {
  method: Type.Optional(Type.Enum([...METHODS])),
  path: Path,
  query: Type.Optional(Texts),
  headers: Type.Optional(Texts),
  body: Type.Optional(ObjectTemplate),
};

const Request = Type.Object({ ...REQUEST, path: Type.Optional(Path) });

const HttpStatus = Type.Integer({ minimum: 100, maximum: 599 });

/**
 * Condition on a response. `is` lists texts, in which `*` is any characters; without it, any value fits. `absent` must
 * be missing or null.
 */
const CONDITION = {
  status: Type.Optional(HttpStatus),
  at: Type.Optional(Pointer),
  is: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  absent: Type.Optional(Pointer),
};
const Condition = Type.Object(CONDITION, strict);

export const MEANINGS = ['policy', 'rejected', 'account', 'busy', 'broken', 'gone'] as const;
export const STATES = ['queued', 'running', 'succeeded', 'failed', 'canceled', 'policy', 'gone'] as const;
const State = Type.Enum([...STATES]);

/** The price that a response reports: a number of a currency unit that is worth `cents`. */
const Price = Type.Object(
  { at: Pointer, cents: Type.Number({ exclusiveMinimum: 0, description: 'a number above 0' }) },
  strict,
);

/** Values that are counted: those that fit `is`; without it, numbers that are counts. */
const Count = Type.Object({ at: Pointer, is: CONDITION.is }, strict);

/** Place of an output. Without `at` the response itself is the file. */
const Output = Type.Object(
  {
    at: Type.Optional(Pointers),
    as: Type.Optional(Type.Enum(['address', 'base64'])),
    /** Address from the fields of the entry at `at`. */
    address: Type.Optional(Type.String({ pattern: '^/', description: 'a path such as /view?filename={filename}' })),
    expires_seconds: Type.Optional(Type.Integer({ minimum: 60 })),
    /** Counts outputs that a safety filter replaced and that are not at `at`. */
    filtered: Type.Optional(Count),
  },
  strict,
);

const As = Type.Enum(['json', 'form']);

/**
 * A request that sends an image before the submit. In a form, `$address` is its file. `values` names values of the
 * response.
 */
const Upload = Type.Object(
  { ...REQUEST, as: Type.Optional(As), values: Type.Optional(Type.Record(Type.String(), Pointer)) },
  strict,
);

const Submit = Type.Object(
  {
    ...REQUEST,
    as: Type.Optional(As),
    /** Field of the body that contains the input of the model. Absent: its fields are fields of the body. */
    input: Type.Optional(Type.String({ minLength: 1 })),
    /** Form of an image: `address`, `file`, or a template. */
    images: Type.Optional(AnyTemplate()),
    /**
     * Requests for each image, in their order. Later ones, and the template of images, use the values of earlier ones.
     */
    uploads: Type.Optional(Type.Array(Upload, { minItems: 1 })),
    id: Type.Optional(Pointer),
    poll_url: Type.Optional(Pointer),
    output: Type.Optional(Output),
    price: Type.Optional(Price),
  },
  strict,
);

const Poll = Type.Object(
  {
    ...REQUEST,
    path: Type.Optional(Path),
    /** States by the status of the response, before `state`. */
    statuses: Type.Optional(
      Type.Record(Type.String(), State, {
        propertyNames: { type: 'string', pattern: '^[1-5]\\d\\d$', description: 'a status such as 202' },
      }),
    ),
    state: Type.Optional(Pointer),
    states: Type.Optional(Type.Record(Type.String(), State)),
    /** State of a response without a value at `state`. Absent: it is not understood, and asked for again. */
    missing: Type.Optional(State),
    progress: Type.Optional(Pointer),
    /** A second request for the output; `values` names values of the response for its path. */
    result: Type.Optional(
      Type.Object({ ...REQUEST, values: Type.Optional(Type.Record(Type.String(), Pointer)) }, strict),
    ),
    output: Output,
    price: Type.Optional(Price),
  },
  strict,
);

const Cancel = Type.Object({ ...REQUEST, confirmed: Type.Optional(Type.Array(Condition, { minItems: 1 })) }, strict);

/** Requests by which videos, or images, are made. */
const Kind = Type.Object(
  {
    /** Input of models that UPSTREAMS does not define. */
    input: Type.Optional(ObjectTemplate),
    submit: Submit,
    poll: Type.Optional(Poll),
    cancel: Type.Optional(Cancel),
  },
  strict,
);

const Auth = Type.Object(
  {
    type: Type.Enum(['none', 'bearer', 'header', 'query', 'jwt']),
    /** True for servers that may need no key. */
    optional: Type.Optional(Type.Boolean()),
    /** Name of the header, or of the parameter. */
    name: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]+$', description: 'the name of a header or parameter' })),
    /** Text before the key in the header. */
    prefix: Type.Optional(Type.String()),
    algorithm: Type.Optional(Type.Enum(['HS256', 'HS384', 'HS512'])),
    lifetime_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 86_400 })),
    /** Place of the key id: the claim `iss`, or `kid` in the header of the token. */
    key_id: Type.Optional(Type.Enum(['iss', 'kid'])),
    /** A key without an id is sent as it is, and signs nothing. */
    plain_keys: Type.Optional(Type.Boolean()),
  },
  strict,
);

const Callback = Type.Object(
  {
    signature: Type.Enum(['none', 'hmac', 'standard_webhooks']),
    /** Place of the id of the job in the body. */
    id: Pointer,
    header: Type.Optional(Type.String({ pattern: '^[a-z0-9-]+$', description: 'a header in lower case' })),
    encoding: Type.Optional(Type.Enum(['hex', 'base64'])),
    /** Text before the signature in the header. */
    prefix: Type.Optional(Type.String()),
  },
  strict,
);

export const Protocol = Type.Object(
  {
    auth: Auth,
    /** Names of the parts of a model id. */
    model: Type.Optional(Type.String({ pattern: '\\{model\\}', description: 'a pattern such as {endpoint}/{model}' })),
    /** Other hosts of the provider, which may receive the key: `*.example.com` for all below a domain. */
    hosts: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^(?:\\*\\.)?[a-z0-9-]+(?:\\.[a-z0-9-]+)+$',
          description: 'a host such as *.example.com',
        }),
      ),
    ),
    /** Rules about the meaning of responses. The first one that fits applies. */
    errors: Type.Optional(Type.Array(Type.Object({ ...CONDITION, means: Type.Enum([...MEANINGS]) }, strict))),
    /** Places of the text of an error. */
    error_text: Type.Optional(Pointers),
    /** Place of the seconds after which to retry, if they are not in the header Retry-After. */
    retry_after: Type.Optional(Pointer),
    files: Type.Optional(Type.Object({ auth: Type.Optional(Type.Boolean()), headers: Type.Optional(Texts) }, strict)),
    probe: Type.Object({ ...REQUEST, statuses: Type.Optional(Type.Array(HttpStatus, { minItems: 1 })) }, strict),
    callback: Type.Optional(Callback),
    video: Type.Optional(Kind),
    image: Type.Optional(Kind),
    /** Inputs and prices of models, by their ids. */
    models: Type.Optional(Type.Record(Type.String(), ModelSettings)),
  },
  strict,
);

export type Protocol = Static<typeof Protocol>;
export type KindProtocol = Static<typeof Kind>;
export type Auth = Static<typeof Auth>;
export type ProtocolOutput = Static<typeof Output>;
export type ProtocolCount = Static<typeof Count>;
export type ProtocolUpload = Static<typeof Upload>;
export type ProtocolPrice = Static<typeof Price>;
export type ProtocolCallback = Static<typeof Callback>;
export type Condition = Static<typeof Condition>;
export type Meaning = (typeof MEANINGS)[number];
export type RunState = (typeof STATES)[number];

/** A request of a protocol. */
export type ProtocolRequest = Static<typeof Request>;

/** A provider whose description comes with the service. */
export interface ProviderDescription {
  base_url: string;
  protocol: Protocol;
}
