import { expect } from 'chai';
import { isDatabaseOutage } from '../../dev/chaos/integrityWatch.ts';

const isOutage = (code: string | undefined, message = 'failed') =>
  isDatabaseOutage(Object.assign(new Error(message), code === undefined ? {} : { code }));

describe('an error of a check during a chaos run', () => {
  it('is an outage of the database if the connection was lost, or Postgres is stopping, starting or full', () => {
    for (const code of ['EPIPE', 'ECONNRESET', 'ECONNREFUSED', '57P01', '57P03', '53100', '08006', '25P03', undefined])
      expect(isOutage(code), code).to.equal(true);
    expect(isOutage('XX000', 'terminating connection due to administrator command')).to.equal(true);
  });

  it('is not an outage if Postgres rejects the statement', () => {
    for (const code of ['42P01', '42703', '22012', 'P0001', 'XX000']) expect(isOutage(code), code).to.equal(false);
  });
});
