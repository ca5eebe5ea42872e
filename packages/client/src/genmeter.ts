import { Billing, GiftCodes, Keys, Ledger, Models, Plans, Usage } from './account.ts';
import { Generations } from './generations.ts';
import { type GenmeterOptions, Transport } from './transport.ts';
import { Uploads } from './uploads.ts';
import { Webhooks } from './webhooks.ts';

/** Client of a genmeter service. It holds no connection and needs no closing. */
export class Genmeter {
  readonly generations: Generations;
  readonly models: Models;
  readonly plans: Plans;
  readonly billing: Billing;
  readonly usage: Usage;
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly giftCodes: GiftCodes;
  readonly uploads: Uploads;
  readonly webhooks: Webhooks;

  constructor(options: GenmeterOptions) {
    const transport = new Transport(options);
    this.generations = new Generations(transport);
    this.models = new Models(transport);
    this.plans = new Plans(transport);
    this.billing = new Billing(transport);
    this.usage = new Usage(transport);
    this.ledger = new Ledger(transport);
    this.keys = new Keys(transport);
    this.giftCodes = new GiftCodes(transport);
    this.uploads = new Uploads(transport);
    this.webhooks = new Webhooks(transport);
  }
}
