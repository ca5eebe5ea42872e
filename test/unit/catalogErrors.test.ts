import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { MODEL, model, MODEL_ERRORS, PRICE_ERRORS } from './catalogErrors.cases.ts';
import { PARAM_ERRORS } from './catalogParamErrors.cases.ts';
import { type Env, getEnvError } from '../harness/upstreamParser.ts';
import { useFolder } from '../harness/useFolder.ts';

const getError = (CATALOG: unknown, env: Env = {}) =>
  getEnvError({ CATALOG: typeof CATALOG === 'string' ? CATALOG : JSON.stringify(CATALOG), ...env });

describe('an invalid CATALOG', () => {
  const folder = useFolder();

  for (const [value, message] of [...MODEL_ERRORS, ...PARAM_ERRORS, ...PRICE_ERRORS]) {
    it(`is rejected with "${message}"`, () => {
      expect(getError(value)).to.equal(message);
    });
  }

  it('is accepted without any of these errors', () => {
    expect(getError(model({}))).to.equal('nothing');
    const literal = { enum: ['\\u0000', '\\\\ud800', '\u{1f600}', '\uffff'], default: '\u{1f600}' };
    expect(getError(model({ params: { ...MODEL.params, literal } })), 'backslashes and whole pairs').to.equal(
      'nothing',
    );
    const seed = { type: 'integer', minimum: -1, maximum: 4_294_967_295 };
    const fields = { params: { ...MODEL.params, seed }, inputs: { image: { role: 'reference', max: 30 } } };
    const models = { 'fal:owner/model': { input: { prompt: '$prompt', seed: '$seed', image_urls: '$reference' } } };
    const env = { UPSTREAMS: JSON.stringify({ models }) };
    expect(getError(model({ ...fields, upstreams: ['fal:owner/model'] }), env), 'seeds and images').to.equal('nothing');
  });

  it('may be a file with variables, and an error names what is missing', async () => {
    const file = join(folder, 'catalog.json');
    await writeFile(file, JSON.stringify(model({ name: '${MODEL_NAME}' })));
    expect(getError(file, { MODEL_NAME: 'Poster model' })).to.equal('nothing');
    expect(getError(file)).to.equal('MODEL_NAME is not set, but CATALOG refers to it.');
    expect(getError(join(folder, 'missing.json'))).to.equal(
      'CATALOG must be JSON or the name of a file that can be read (ENOENT).',
    );
  });

  it('must not refer to secrets, which the release step would store in the database', () => {
    for (const name of ['FAL_KEY', 'SECRET_KEY', 'REPLICATE_API_TOKEN', 'DATABASE_URL', 'MY_PASSWORD', 'acme_apikey']) {
      expect(getError(model({ description: `\${${name}}` }), { [name]: 'postgres://user:s3cret@host/name' })).to.equal(
        `CATALOG must not refer to ${name}: the release step stores it in the database, and customers see parts of it.`,
      );
    }
    expect(getError(model({ name: '${KEYNOTE_MODEL}' }), { KEYNOTE_MODEL: 'Poster model' })).to.equal('nothing');
  });
});
