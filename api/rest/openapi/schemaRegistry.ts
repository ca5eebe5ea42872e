import { ImageParams, VideoParams } from '../../../shared/spec/catalog.ts';
import { MetricsResponse } from '../admin/schemas.ts';
import { AffiliateStatusResponse } from '../affiliate/schemas.ts';
import { ApiKeyResponse, CreatedApiKeyResponse } from '../apiKeys/schemas.ts';
import * as billing from '../billing/schemas.ts';
import { GenerationResponse } from '../generations/schemas.ts';
import { ModelResponse } from '../models/schemas.ts';
import { PaginationResponse } from '../pagination.ts';
import { ProfileRequest, UserResponse } from '../session/schemas.ts';
import { LedgerEntryResponse, UsageResponse } from '../usage/schemas.ts';
import { isInternalKeyword } from '../../../shared/lib/validation/schemaValidator.ts';

/** Schemas with a name in the document. All others are written where they are used. */
const SCHEMA_NAMES = new Map<unknown, string>([
  [GenerationResponse, 'Generation'],
  [PaginationResponse, 'Pagination'],
  [ModelResponse, 'Model'],
  [ApiKeyResponse, 'ApiKey'],
  [CreatedApiKeyResponse, 'CreatedApiKey'],
  [LedgerEntryResponse, 'LedgerEntry'],
  [UsageResponse, 'UsageSummary'],
  [billing.PlanResponse, 'Plan'],
  [billing.BillingStatusResponse, 'BillingStatus'],
  [billing.CheckoutResponse, 'Checkout'],
  [billing.TopupSettingsResponse, 'TopupSettings'],
  [UserResponse, 'User'],
  [AffiliateStatusResponse, 'AffiliateStatus'],
  [MetricsResponse, 'Metrics'],
  [billing.TopupSettingsRequest, 'TopupSettingsChange'],
  [ProfileRequest, 'Profile'],
  [VideoParams, 'VideoParams'],
  [ImageParams, 'ImageParams'],
]);

type JsonSchema = Record<string, unknown>;

/** Converts schemas to plain JSON Schema. Named schemas are written once and referenced. */
export class SchemaRegistry {
  /** Referenced schemas, by name. */
  readonly schemasByName: Record<string, unknown> = {};

  /** Returns a schema for the place where it is used: a reference if it has a name. */
  resolve(schema: unknown): JsonSchema {
    const name = SCHEMA_NAMES.get(schema);
    if (name === undefined) return this.#clean(schema) as JsonSchema;
    if (!Object.hasOwn(this.schemasByName, name)) {
      // Reserved first, so that nested schemas can refer to it.
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

/** Adds the type to an enum, which code generators need. */
function withEnumType(schema: JsonSchema): JsonSchema {
  const values = schema['enum'];
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...schema };
}
