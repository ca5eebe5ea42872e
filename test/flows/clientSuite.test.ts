import { expect } from 'chai';
import { listMethods, SuiteContext } from '../harness/clientSuite/context.ts';
import { CASES } from '../harness/clientSuite/suite.ts';
import { startSuiteService, type SuiteService } from '../harness/clientSuite/service.ts';

describe('the client suite in this process', () => {
  let suite: SuiteService;
  let context: SuiteContext;
  before(async () => {
    suite = await startSuiteService();
    context = new SuiteContext(await suite.createSettings());
  });
  after(() => suite.stop());

  for (const { title, run } of CASES) it(title, () => run(context));

  it('calls every method of the client', () => {
    expect([...context.called].toSorted()).to.deep.equal(listMethods(context.openWith({})).toSorted());
  });
});
