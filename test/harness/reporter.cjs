const Mocha = require('mocha');

/** Mocha's own report, and after it one line that a machine can read: `N passed, N failed`. */
module.exports = class Counting extends Mocha.reporters.Spec {
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}`);
  }
};
