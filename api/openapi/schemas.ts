import { ImageParams, VideoParams } from '../../shared/spec/catalog.ts';
import * as answers from '../answers.ts';
import * as bodies from '../schemas.ts';

/** What has a name in the document; all else stands where it is used. */
const NAMES = new Map<unknown, string>([
  [answers.GenerationAnswer, 'Generation'],
  [answers.PaginationAnswer, 'Pagination'],
  [answers.ModelAnswer, 'Model'],
  [answers.ApiKeyAnswer, 'ApiKey'],
  [answers.CreatedApiKeyAnswer, 'CreatedApiKey'],
  [answers.LedgerEntryAnswer, 'LedgerEntry'],
  [answers.UsageAnswer, 'UsageSummary'],
  [answers.PlanAnswer, 'Plan'],
  [answers.BillingStatusAnswer, 'BillingStatus'],
  [answers.CheckoutAnswer, 'Checkout'],
  [answers.TopupSettingsAnswer, 'TopupSettings'],
  [answers.UserAnswer, 'User'],
  [answers.AffiliateStatusAnswer, 'AffiliateStatus'],
  [answers.MetricsAnswer, 'Metrics'],
  [bodies.TopupSettings, 'TopupSettingsChange'],
  [bodies.Profile, 'Profile'],
  [VideoParams, 'VideoParams'],
  [ImageParams, 'ImageParams'],
]);

type Json = Record<string, unknown>;

/** Schemas as the document has them: plain JSON Schema, each that has a name written once and referred to. */
export class Schemas {
  /** Those that were referred to, by name. */
  readonly named: Record<string, unknown> = {};

  /** A schema at the place where it is used. */
  at(schema: unknown): Json {
    const name = NAMES.get(schema);
    if (name === undefined) return this.#clean(schema) as Json;
    if (!Object.hasOwn(this.named, name)) {
      // Taken first, so that what is within can refer to it.
      this.named[name] = {};
      this.named[name] = this.#clean(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #clean(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.#within(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const entries = Object.entries(schema)
      .filter(([key, value]) => !isOurs(key, value))
      .map(([key, value]) => [key, this.#within(value)] as const);
    return withType(Object.fromEntries(entries));
  }

  #within(value: unknown): unknown {
    return NAMES.has(value) ? this.at(value) : this.#clean(value);
  }
}

/** What our own validation understands, and no client does. */
function isOurs(key: string, value: unknown): boolean {
  return key === 'trimmed' || (key === 'format' && value === 'text');
}

/** Values that are listed get their type: generators want to be told. */
function withType(schema: Json): Json {
  const values = schema['enum'];
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...schema };
}
