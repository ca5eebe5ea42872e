import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { findBreakingChanges } from '../../dev/openapi/breakingChanges.ts';
import {
  CLIENT_TYPES_FILE,
  formatOpenApiDocument,
  type Json,
  OPENAPI_FILE,
  PYTHON_TYPES_FILE,
  RELEASED_FILE,
  removeTexts,
  withDefaultBaseUrl,
} from '../../dev/openapi/document.ts';
import { generateTypes } from '../../packages/client/codegen/generateTypes.ts';
import { generatePythonTypes } from '../../packages/python/codegen/generateTypes.ts';
import { startTestService } from '../harness/testService.ts';

const stored = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8')) as Json;
const released = JSON.parse(readFileSync(RELEASED_FILE, 'utf8')) as Json;

/** Finds what a change of the stored document breaks. */
const changesAfter = (change: (document: Json) => void, before = stored): string[] => {
  const changed = structuredClone(stored);
  change(changed);
  return findBreakingChanges(before, changed);
};
/** Finds what a change of the stored document breaks for clients of the last release. */
const breaksAfter = (change: (document: Json) => void): string[] => changesAfter(change, released);
const createBody = (document: Json) => document['paths']['/api/billing/topup/'].post.requestBody;
const topupSchema = (document: Json): Json => createBody(document).content['application/json'].schema;
const schemas = (document: Json): Json => document['components'].schemas;

describe('docs/openapi.json', () => {
  it('equals the document of a running service; npm run openapi updates it', async () => {
    const service = await startTestService({ workers: 0 });
    try {
      const { body } = await service.request('GET', '/api/openapi.json');
      expect(withDefaultBaseUrl(body as Json)).to.deep.equal(stored);
      expect(readFileSync(OPENAPI_FILE, 'utf8')).to.equal(formatOpenApiDocument(stored));
    } finally {
      await service.stop();
    }
  });

  it('the types of the client libraries are generated from it; npm run openapi updates them', async () => {
    expect(readFileSync(CLIENT_TYPES_FILE, 'utf8')).to.equal(await generateTypes(stored));
    expect(readFileSync(PYTHON_TYPES_FILE, 'utf8')).to.equal(generatePythonTypes(stored));
  });

  it('does not break clients of the last release; npm run openapi -- --release stores it as one', () => {
    const [major, releasedMajor] = [stored, released].map(({ info }) => String(info.version).split('.')[0]);
    if (major === releasedMajor) expect(findBreakingChanges(released, stored)).to.deep.equal([]);
    expect(removeTexts(released)).to.deep.equal(released);
    expect(findBreakingChanges(removeTexts(stored), stored)).to.deep.equal([]);
  });

  describe('compared with the last release', () => {
    it('reports a removed path, a removed field, a new required field and a changed type', () => {
      const removedPath = breaksAfter((document) => delete document['paths']['/api/usage/summary/']);
      expect(removedPath).to.deep.equal(['GET /api/usage/summary/: removed']);
      const removedField = breaksAfter((document) => delete schemas(document)['LedgerEntry'].properties.amount);
      expect(removedField).to.include('GET /api/ledger/: response 200.data[].amount: removed');
      const required = breaksAfter((document) => {
        topupSchema(document)['properties'].note = { type: 'string' };
        topupSchema(document)['required'] = [...topupSchema(document)['required'], 'note'];
      });
      expect(required).to.deep.equal(['POST /api/billing/topup/: request.note: became required']);
      const changedType = breaksAfter((document) => {
        schemas(document)['LedgerEntry'].properties.amount = { type: 'string' };
      });
      expect(changedType.join('\n')).to.include('amount: type changed (integer to string)');
    });

    it('accepts a change of what no release contains', () => {
      const path = '/api/generations/estimate/';
      expect([path in stored['paths'], path in released['paths']]).to.deep.equal([true, false]);
      expect(breaksAfter((document) => delete document['paths'][path])).to.deep.equal([]);
    });
  });

  describe('its compatibility check', () => {
    it('accepts an unchanged document, new operations and new response fields', () => {
      expect(changesAfter(() => {})).to.deep.equal([]);
      const additions = changesAfter((document) => {
        document['paths']['/api/new/'] = document['paths']['/api/health/'];
        schemas(document)['Generation'].properties.more = { type: 'string' };
        topupSchema(document)['properties'].note = { type: 'string' };
      });
      expect(additions).to.deep.equal([]);
    });

    it('reports a removed operation', () => {
      expect(changesAfter((document) => delete document['paths']['/api/ledger/'])).to.deep.equal([
        'GET /api/ledger/: removed',
      ]);
    });

    it('reports a removed response field once for each operation that returns it', () => {
      const changes = changesAfter((document) => delete schemas(document)['Generation'].properties.output_url);
      expect(changes).to.include('POST /api/generations/create/: response 201.output_url: removed');
      expect(changes.length).to.be.above(1);
    });

    it('reports input that is rejected from now on: new required fields, narrower bounds, fewer values', () => {
      const changes = changesAfter((document) => {
        const schema = topupSchema(document);
        schema['properties'].note = { type: 'string' };
        schema['required'] = [...schema['required'], 'note'];
        schema['properties'].amount_cents.minimum += 1;
        schemas(document)['VideoParams'].properties.duration.enum = [5];
      });
      expect(changes).to.include('POST /api/billing/topup/: request.note: became required');
      expect(changes).to.include('POST /api/billing/topup/: request.amount_cents: minimum was raised');
      expect(changes.join('\n')).to.match(/POST \/api\/generations\/create\/: request.*duration: no longer accepts 10/);
    });

    it('reports a changed type and a credential that is no longer accepted', () => {
      const changes = changesAfter((document) => {
        schemas(document)['Generation'].properties.credits_charged = { type: 'string' };
        document['paths']['/api/ledger/'].get.security = [{ session: [] }];
        document['paths']['/api/models/'].get.security = [{ session: [] }];
      });
      expect(changes.join('\n')).to.include('credits_charged: type changed (integer to string)');
      expect(changes).to.include('GET /api/ledger/: no longer accepts {"bearerKey":[]}');
      expect(changes).to.include('GET /api/models/: now needs a credential');
    });
  });
});
