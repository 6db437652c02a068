import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { shell } from './shell.ts'
import { watcher } from './watcher.ts'

// A process that runs commands and then ends in a given way. Reports on stdout when they run.

const [how = '', workspace = '', token = '', sandbox = 'off'] = process.argv.slice(2)

const box = shell({ workspace, sandbox: sandbox as 'off', env: { TEST_TOKEN: token }, timeoutMs: 600_000 })
const [tool] = box.tools

async function start(line: string, background: boolean): Promise<void> {
  const input = { form: 'line', line, background, cwd: undefined, timeoutMs: 600_000 }
  await tool?.run?.(input as never, toolContext())
}

const stubborn =
  "trap '' TERM; (setsid nohup sh -c 'sleep 1000; true' >/dev/null 2>&1 &); while :; do sleep 1; done"
if (how === 'wait') {
  void start(stubborn, false)
  void start('sleep 1000 | cat', false)
}
// An orphan that cannot be identified by environment, session or parent.
const hidden = `env -i setsid -f sleep ${token}; sleep ${token}`
if (how === 'hide') void start('sleep 1000', false)
await start(how === 'hide' ? hidden : `echo up; ${stubborn}`, true)
process.stdout.write(`${watcher.pid}\n`)
if (how === 'exit') process.exit()
if (how === 'throw') throw new Error('it broke')
// With `end`, only background commands are left, which do not keep the process running.
