// Loaded into each measured command: reports what the process has used when it exits, or when it gets
// SIGUSR2, after which it is not needed any more.
const { writeSync } = require('node:fs')

function report() {
  const { user, system } = process.cpuUsage()
  try {
    writeSync(3, `${(user + system) / 1000}\n`)
  } catch {
    // A process that the command started has no such file.
  }
}
process.once('exit', report)
process.once('SIGUSR2', () => process.exit())
