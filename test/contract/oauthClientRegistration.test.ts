import { expect } from 'chai';
import { type ApiResponse, request } from '../harness/apiClient.ts';
import { countOccurrences } from '../harness/errorEnvelope.ts';
import { postUrlEncoded, REDIRECT_URI } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

describe('OAuth client registration', () => {
  const service = useTestService({ workers: 0 });

  const register = (body: unknown) => request(service.baseUrl, 'POST', '/register', { body });
  const clientCount = async () => Number((await service.sql('SELECT count(*) FROM oauth_clients'))[0].count);

  it('registration returns 201 with the stored metadata, a new client_id and no secret', async () => {
    const { status, body, headers } = await register({
      client_name: '  My\u202e   client\n',
      redirect_uris: [REDIRECT_URI, 'cursor://x/y', REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token', 'implicit'],
      token_endpoint_auth_method: 'none',
      scope: 'openid',
      logo_uri: 'javascript:alert(1)',
      software_id: { any: 'thing' },
    });
    expect([status, headers.get('cache-control')]).to.deep.equal([201, 'no-store']);
    expect(body.client_id).to.match(/^[0-9a-f-]{36}$/);
    expect(Date.now() / 1_000 - body.client_id_issued_at).to.be.within(-1, 60);
    expect({ ...body, client_id: '', client_id_issued_at: 0 }).to.deep.equal({
      client_id: '',
      client_id_issued_at: 0,
      client_name: 'My client',
      redirect_uris: [REDIRECT_URI, 'cursor://x/y'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'svc:read svc:write',
    });
    expect((await register({ redirect_uris: ['https://app.example:8443/cb'] })).body.client_name).to.equal(
      'app.example:8443',
    );
  });

  it('registration accepts only redirect URIs that belong to the client', async () => {
    for (const uri of [
      'http://app.example/cb',
      'http://192.168.1.5/cb',
      'http://127.0.0.2/cb',
      'http://localhost.example/cb',
      'http://2130706433/cb',
      'https://app.example/cb#fragment',
      'https://app.example/cb#',
      'https://user:secret@app.example/cb',
      'https:app.example/cb',
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://a.example/x',
      'about:blank',
      'mailto:a@example.com',
      'intent://x',
      'shell:startup',
      'search:query=x',
      'search-ms:query=x',
      'mk:@MSITStore:C:/x.chm',
      'feed:https://app.example/',
      'chrome-extension://abcdef/cb',
      'moz-extension://abcdef/cb',
      'ms-settings:privacy',
      'ms-appinstaller:?source=https://app.example/x',
      'MS-Word:ofe|u|https://app.example/x'.replaceAll('|', '%7C'),
      'microsoft-edge:https://app.example/',
      'microsoft.windows.camera:cb',
      'steam://run/1',
      'msal://a/b',
      'skype:cb',
      'itms-services://?action=x',
      'magnet:?xt=x',
      'view-source:https://app.example/',
      'callback',
      '/callback',
      '//app.example/cb',
      '',
      ' https://app.example/cb',
      'https://app.example/\ncb',
      'https://app.example/"><script>',
      'https://exämple.example/',
      `https://app.example/${'x'.repeat(1_000)}`,
      5,
      null,
      ['https://app.example/'],
    ]) {
      const { status, body } = await register({ redirect_uris: [REDIRECT_URI, uri] });
      expect([status, body.error], String(uri)).to.deep.equal([400, 'invalid_redirect_uri']);
      expect(body.error_description).to.match(/^redirect_uris\[1\] /);
    }
    for (const uri of [
      'https://app.example/',
      'http://localhost:1/',
      'http://[::1]/cb',
      'com.example.app:/cb',
      'vscode://a/b',
      'vscode-insiders://a/b',
      'windsurf://a/b',
      'cursor://a/b',
    ])
      expect((await register({ redirect_uris: [uri] })).status, uri).to.equal(201);
  });

  it('registration rejects invalid metadata with the errors of RFC 7591 and never returns 500', async () => {
    const uris = [REDIRECT_URI];
    const cases: [string, unknown][] = [
      ['invalid_redirect_uri', {}],
      ['invalid_redirect_uri', { redirect_uris: [] }],
      ['invalid_redirect_uri', { redirect_uris: REDIRECT_URI }],
      ['invalid_redirect_uri', { redirect_uris: { 0: REDIRECT_URI } }],
      ['invalid_redirect_uri', { redirect_uris: Array.from({ length: 11 }, (_, n) => `${REDIRECT_URI}${n}`) }],
      ['invalid_client_metadata', { redirect_uris: uris, token_endpoint_auth_method: 'private_key_jwt' }],
      ['invalid_client_metadata', { redirect_uris: uris, grant_types: ['client_credentials'] }],
      ['invalid_client_metadata', { redirect_uris: uris, response_types: ['token'] }],
      ['invalid_client_metadata', { redirect_uris: uris, response_types: 'code' }],
      ['invalid_client_metadata', { redirect_uris: uris, client_name: 'x'.repeat(101) }],
      ['invalid_client_metadata', { redirect_uris: uris, client_name: ['x'] }],
      ['invalid_client_metadata', []],
      ['invalid_client_metadata', 'text'],
      ['invalid_client_metadata', null],
    ];
    for (const [error, metadata] of cases) {
      const { status, body } = await register(metadata);
      expect([status, body.error], JSON.stringify(metadata)).to.deep.equal([400, error]);
    }
    const form = await postUrlEncoded(service.baseUrl, '/register', { redirect_uris: REDIRECT_URI });
    expect([form.status, form.body.error]).to.deep.equal([400, 'invalid_client_metadata']);
    for (const rawBody of ['{', '', '\u0000', '{"redirect_uris":["http://127.0.0.1/"],"__proto__":5', '[[[[']) {
      const response = await request(service.baseUrl, 'POST', '/register', { rawBody });
      expect([response.status, response.body.error], rawBody).to.deep.equal([400, 'invalid_client_metadata']);
    }
    const named = await register({ redirect_uris: uris, client_name: 'a\u0000b\uD800' });
    expect([named.status, named.body.client_name]).to.deep.equal([201, 'a b']);
  });

  it('registration rejects a body of more than 16 KiB', async () => {
    const { status, body } = await register({ redirect_uris: [REDIRECT_URI], padding: 'x'.repeat(17_000) });
    expect([status, body.error]).to.deep.equal([413, 'invalid_request']);
  });

  it('a client that asks for a secret is registered without one, and what it sends as its secret is ignored', async () => {
    for (const method of ['client_secret_post', 'client_secret_basic']) {
      const { status, body } = await register({ redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: method });
      expect([status, body.token_endpoint_auth_method, body.client_secret], method).to.deep.equal([
        201,
        'none',
        undefined,
      ]);
      const fields = { grant_type: 'refresh_token', client_id: body.client_id, refresh_token: 'x', client_secret: 'y' };
      const answer = await postUrlEncoded(service.baseUrl, '/token', fields);
      expect(answer.body.error).to.equal('invalid_grant');
    }
  });

  it('registrations are limited per minute and address, and a flood stores no more clients', async () => {
    const { baseUrl } = await service.startApi({
      RATE_LIMITS: 'on',
      RATE_REGISTRATIONS_PER_MINUTE: '5',
      REDIS_PREFIX: 'flood',
    });
    const before = await clientCount();
    const responses: ApiResponse[] = [];
    for (let index = 0; index < 40; index += 1)
      responses.push(await request(baseUrl, 'POST', '/register', { body: { redirect_uris: [REDIRECT_URI] } }));
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 201: 5, 429: 35 });
    expect(responses[39]?.body.error).to.equal('temporarily_unavailable');
    expect(responses[39]?.body.error_description).to.match(/^Too many requests: wait \d+ s/);
    expect(Number(responses[39]?.headers.get('retry-after'))).to.be.within(1, 60);
    expect(responses[39]?.headers.get('ratelimit-policy')).to.equal('"register";q=5;w=60');
    expect(responses[39]?.headers.get('access-control-allow-origin')).to.equal('*');
    expect(await clientCount()).to.equal(before + 5);
    // Nothing else counts with it.
    expect((await postUrlEncoded(baseUrl, '/token', {})).status).to.equal(400);
    expect((await request(baseUrl, 'GET', '/authorize')).status).to.equal(303);
    expect((await request(baseUrl, 'GET', '/jwks.json')).status).to.equal(200);
  });
});
