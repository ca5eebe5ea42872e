import type { TObject } from 'typebox';

/** Types of the catalog of models (spec: Model; docs/decisions.md: Generations). */

export const MODEL_KINDS = ['video', 'image'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** Slug of a model of the catalog, or of one that was removed from it. */
export type ModelSlug = string;

export type ParamValue = string | number | boolean | readonly string[];
/** Parameters of a generation by their names, with defaults applied. */
export type GenerationParams = Readonly<Record<string, ParamValue>>;

/** Most files of a generation. */
export const OUTPUTS_MAX = 16;

/** Highest price of a generation. */
export const CREDITS_MAX = 1_000_000;

/** JSON value with variables and tables: see `lib/template.ts`. */
export type Template = string | number | boolean | null | Template[] | { [field: string]: Template };

/** A parameter of a model: one of a list of values, or a value of a type. */
export interface ParamDefinition {
  enum?: readonly (string | number)[];
  type?: 'integer' | 'number' | 'boolean' | 'string';
  /** Limits of a number, or of the length of a text. */
  minimum?: number;
  maximum?: number;
  default?: string | number | boolean;
  required?: boolean;
  description?: string;
}

export const INPUT_ROLES = ['first_frame', 'last_frame', 'reference', 'mask'] as const;
export type InputRole = (typeof INPUT_ROLES)[number];

/** A parameter that takes an image. */
export interface InputDefinition {
  role: InputRole;
  max?: number;
  required?: boolean;
}

/** The cheapest upstream first, or a weight for each. */
export type Routing = 'cheapest' | readonly number[];

/** A model as `CATALOG` defines it. */
export interface ModelDefinition {
  uuid?: string;
  name: string;
  kind: ModelKind;
  description: string;
  /** First choice and fallbacks, as `upstream:model id`. The default models take them from their own variables. */
  upstreams?: readonly string[];
  /** Which upstream runs a generation: the cheapest, or one by weights. Default: in the order of `upstreams`. */
  routing?: Routing;
  /** A run that fails is tried at another upstream once. */
  retry_elsewhere?: boolean;
  params: Readonly<Record<string, ParamDefinition>>;
  inputs?: Readonly<Record<string, InputDefinition>>;
  /** Number of files that a generation makes, as a template. Default: 1. */
  outputs?: Template;
  /** Price of a generation with one file, as a template. */
  credits: Template;
  sort_order?: number;
  hidden?: boolean;
  deprecated_at?: string;
}

/** An image that a model takes. */
export interface ModelInput {
  role: InputRole;
  max: number;
  required: boolean;
}

export interface CatalogModel {
  uuid: string;
  slug: ModelSlug;
  name: string;
  kind: ModelKind;
  description: string;
  /** The cheapest generation, in credits. */
  creditsBase: number;
  /** The most expensive generation, in credits. */
  creditsMax: number;
  sortOrder: number;
  /** Accepted in creates, but not listed. */
  hidden: boolean;
  /** ISO 8601; information for clients. */
  deprecatedAt: string | null;
  /** Validates a request's `params` and fills in what it left out. */
  params: TObject;
  /** The accepted values, as `GET /api/models/` shows them. */
  paramsSchema: Readonly<Record<string, unknown>>;
  /** Parameters without a default that a request may leave out. They are null in templates then. */
  optionalParams: readonly string[];
  /** Parameters that take an image, by name. */
  inputs: Readonly<Record<string, ModelInput>>;
  /** First choice and fallbacks, as `upstream:model id`; null for the default models, which have variables. */
  upstreams: readonly string[] | null;
  definition: ModelDefinition;
  /** Price of a generation in credits. @throws Error if the formula has no integer from 1 for these parameters. */
  price: (params: GenerationParams) => number;
}
