import { supportDesk } from './agent.ts'
import { playOnce } from './plain.ts'
import { offlineModel } from './scripted.ts'
import { converse } from './session.ts'

// `npm start | head -1`: whoever read has gone, and that is no error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EIO') process.exit(0)
  throw error
})

const desk = supportDesk(offlineModel())
const hasTerminal = process.stdin.isTTY && process.stdout.isTTY && process.env.TERM !== 'dumb'

console.log('Millrace support desk, offline: no key, no network, answers scripted by keyword.')
console.log('The tools really run. Real models come later, with a key.\n')

process.exitCode = hasTerminal ? await converse(desk) : await playOnce(desk)
