// Mocha loads reporters with `require`, which wants a CommonJS file.
module.exports = require('./reporter.ts').FileReporter;
