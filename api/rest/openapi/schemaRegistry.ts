import { ImageParams, VideoParams } from '../../../shared/spec/catalog.ts';
import * as answers from '../responseSchemas.ts';
import * as bodies from '../requestSchemas.ts';

/** What has a name in the document; all else stands where it is used. */
const SCHEMA_NAMES = new Map<unknown, string>([
  [answers.GenerationResponse, 'Generation'],
  [answers.PaginationResponse, 'Pagination'],
  [answers.ModelResponse, 'Model'],
  [answers.ApiKeyResponse, 'ApiKey'],
  [answers.CreatedApiKeyResponse, 'CreatedApiKey'],
  [answers.LedgerEntryResponse, 'LedgerEntry'],
  [answers.UsageResponse, 'UsageSummary'],
  [answers.PlanResponse, 'Plan'],
  [answers.BillingStatusResponse, 'BillingStatus'],
  [answers.CheckoutResponse, 'Checkout'],
  [answers.TopupSettingsResponse, 'TopupSettings'],
  [answers.UserResponse, 'User'],
  [answers.AffiliateStatusResponse, 'AffiliateStatus'],
  [answers.MetricsResponse, 'Metrics'],
  [bodies.TopupSettingsRequest, 'TopupSettingsChange'],
  [bodies.ProfileRequest, 'Profile'],
  [VideoParams, 'VideoParams'],
  [ImageParams, 'ImageParams'],
]);

type JsonSchema = Record<string, unknown>;

/** Schemas as the document has them: plain JSON Schema, each that has a name written once and referred to. */
export class SchemaRegistry {
  /** Those that were referred to, by name. */
  readonly schemasByName: Record<string, unknown> = {};

  /** A schema at the place where it is used. */
  resolve(schema: unknown): JsonSchema {
    const name = SCHEMA_NAMES.get(schema);
    if (name === undefined) return this.#clean(schema) as JsonSchema;
    if (!Object.hasOwn(this.schemasByName, name)) {
      // Taken first, so that what is within can refer to it.
      this.schemasByName[name] = {};
      this.schemasByName[name] = this.#clean(schema);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #clean(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.#within(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const entries = Object.entries(schema)
      .filter(([key, value]) => !isInternalKeyword(key, value))
      .map(([key, value]) => [key, this.#within(value)] as const);
    return withEnumType(Object.fromEntries(entries));
  }

  #within(value: unknown): unknown {
    return SCHEMA_NAMES.has(value) ? this.resolve(value) : this.#clean(value);
  }
}

/** What our own validation understands, and no client does. */
function isInternalKeyword(key: string, value: unknown): boolean {
  return key === 'trimmed' || (key === 'format' && value === 'text');
}

/** Values that are listed get their type: generators want to be told. */
function withEnumType(schema: JsonSchema): JsonSchema {
  const values = schema['enum'];
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...schema };
}
