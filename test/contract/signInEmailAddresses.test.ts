import { expect } from 'chai';
import { createPerson } from '../fakes/identity/person.ts';
import { startFakeGoogle } from '../fakes/identity/providers.ts';
import { request } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { postUrlEncoded } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

describe('e-mail addresses at sign-in', () => {
  const service = useTestService({ workers: 0 });

  const accountCount = async () => Number((await service.sql('SELECT count(*) FROM accounts'))[0].count);

  // In lower case each is equal or similar to another user's address.
  const LOOKALIKES = [
    'mi\u212Ae@example.com',
    'mike@\u212Aites.example',
    'mike@example.co\u017F',
    'm\u0456ke@example.com',
  ];

  it('local sign-in rejects an address with non-ASCII letters', async () => {
    const before = await accountCount();
    for (const email of LOOKALIKES) {
      const json = await request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email } });
      expectError(json, 'validation_error', 'email');
      const page = await postUrlEncoded(service.baseUrl, '/sign-in', { email }, { origin: service.baseUrl });
      expect([page.status, page.headers.getSetCookie()], email).to.deep.equal([400, []]);
      expect(page.body).to.include('Enter a valid e-mail address');
    }
    expect(await accountCount()).to.equal(before);
  });

  it('a provider cannot sign in a user with non-ASCII letters in the address', async () => {
    const google = await startFakeGoogle();
    const { baseUrl } = await service.startApi(google.env);
    try {
      await google.serve(baseUrl);
      for (const email of LOOKALIKES) {
        google.fake.person = createPerson({ email });
        const visitor = new HttpBrowser();
        const { url } = await visitor.navigate(`${baseUrl}/authentication/social/google/start`);
        expect([url.pathname, url.searchParams.get('problem')], email).to.deep.equal(['/sign-in', 'unverified']);
      }
      expect(await service.sql('SELECT 1 FROM identities')).to.deep.equal([]);
      google.fake.person = createPerson({ email: "Mike.O'Hara+x_y/z@Kites.example" });
      const { url } = await new HttpBrowser().navigate(`${baseUrl}/authentication/social/google/start`);
      expect(url.pathname).to.equal('/account/');
    } finally {
      await google.fake.stop();
    }
  });
});
