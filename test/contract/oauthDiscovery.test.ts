import { expect } from 'chai';
import { request } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';

/** OAuth endpoints that pages of other origins may call. */
const OPEN = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/jwks.json',
  '/register',
  '/token',
  '/revoke',
  '/.well-known/oauth-protected-resource/api',
];

describe('OAuth discovery', () => {
  const service = useTestService({ workers: 0 });

  it('the protected-resource metadata names the /mcp URL and this server', async () => {
    for (const path of OPEN.slice(0, 2)) {
      const { status, body } = await request(service.baseUrl, 'GET', path);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        resource: `${service.baseUrl}/mcp`,
        authorization_servers: [service.baseUrl],
        scopes_supported: ['svc:read', 'svc:write'],
        bearer_methods_supported: ['header'],
        resource_name: 'genmeter',
      });
    }
  });

  it('the authorization-server metadata lists exactly the supported features', async () => {
    for (const path of OPEN.slice(2, 4)) {
      const { status, body } = await request(service.baseUrl, 'GET', path);
      expect(status).to.equal(200);
      expect(body).to.deep.include({
        issuer: service.baseUrl,
        authorization_endpoint: `${service.baseUrl}/authorize`,
        token_endpoint: `${service.baseUrl}/token`,
        registration_endpoint: `${service.baseUrl}/register`,
        revocation_endpoint: `${service.baseUrl}/revoke`,
        jwks_uri: `${service.baseUrl}/jwks.json`,
        scopes_supported: ['svc:read', 'svc:write'],
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      });
    }
  });

  describe('CORS', () => {
    it('preflight needs no credential, and pages can read every response including errors', async () => {
      for (const path of OPEN) {
        const preflight = await request(service.baseUrl, 'OPTIONS', path, {
          headers: {
            origin: 'https://client.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type, mcp-protocol-version',
          },
        });
        expect(preflight.status, path).to.equal(204);
        expect(preflight.headers.get('access-control-allow-origin')).to.equal('*');
        expect(preflight.headers.get('access-control-allow-methods')).to.match(/^(GET|POST), OPTIONS$/);
        expect(preflight.headers.get('access-control-allow-headers')).to.match(/Content-Type.*MCP-Protocol-Version/);
        const method = ['/register', '/token', '/revoke'].includes(path) ? 'POST' : 'GET';
        const { headers } = await request(service.baseUrl, method, path, {
          headers: { origin: 'https://client.example' },
        });
        expect(headers.get('access-control-allow-origin'), path).to.equal('*');
        expect(headers.get('access-control-allow-credentials')).to.equal(null);
        const exposed = headers.get('access-control-expose-headers');
        for (const name of ['WWW-Authenticate', 'Mcp-Session-Id', 'Retry-After']) expect(exposed).to.include(name);
      }
    });
  });
});
