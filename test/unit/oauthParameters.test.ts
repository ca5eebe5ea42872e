import { expect } from 'chai';
import { parseParameters } from '../../api/oauth/parameters.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const parse = (resource: string) => parseParameters(new URLSearchParams({ resource }));

describe('the parameter resource of OAuth requests', () => {
  before(() => setTestConfig({ BASE_URL: 'http://pixels.example:8080' }));

  it('is accepted with scheme and host in upper case, and with a trailing slash', () => {
    for (const resource of [
      'http://pixels.example:8080/mcp',
      'HTTP://pixels.example:8080/mcp',
      'http://Pixels.EXAMPLE:8080/mcp/',
    ])
      expect(parse(resource), resource).to.deep.equal({ resource });
  });

  it('is rejected with another path, host, port or scheme', () => {
    for (const resource of [
      'http://pixels.example:8080/MCP',
      'http://pixels.example/mcp',
      'https://pixels.example:8080/mcp',
      'http://pixels.example:8080/mcp?x',
      'http://pixels.example:8080',
    ])
      expect(() => parse(resource), resource).to.throw(
        'resource must be http://pixels.example:8080/mcp or http://pixels.example:8080/api/ here.',
      );
  });
});
