import type { StripeParams } from './params.ts';
import type { StripeStore } from './store.ts';

/** @param id the value of `:id`. @returns the response body. @throws StripeApiError */
export type StripeHandler = (store: StripeStore, params: StripeParams, id: string) => unknown;
