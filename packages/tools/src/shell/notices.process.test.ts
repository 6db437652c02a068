import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const entry = new URL('../index.ts', import.meta.url).href
const notInstalled = 'bubblewrap is not installed (apt-get install bubblewrap)'

/** Makes shells in a process of its own that finds no bubblewrap. Gives what it wrote, without the lines that are Node's own. */
async function withoutBubblewrap(...sandboxes: string[]) {
  const program = `
    import { shell } from ${JSON.stringify(entry)}
    for (const sandbox of ${JSON.stringify(sandboxes)}) {
      const box = shell({ workspace: ${JSON.stringify(tmpdir())}, sandbox })
      console.log(await box.notices().catch(({ code, message }) => code + ' ' + message))
    }`
  const args = ['--conditions=@millrace/source', '--input-type=module', '-e', program]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env: { PATH: '/nowhere' } })
  const warnings = stderr.split('\n').filter((line) => line.includes('Warning: '))
  return { stdout, warnings: warnings.map((line) => line.replace(/^\(node:\d+\) /, '')) }
}

test('a process without a sandbox is warned once, however many shells it has', async () => {
  const sentence = `Commands run without a sandbox, with all rights of your user: ${notInstalled}.`
  const { stdout, warnings } = await withoutBubblewrap('auto', 'auto', 'required')
  expect(warnings).toEqual([`[MILLRACE_NO_SANDBOX] Warning: ${sentence}`])
  const refusal = `shell: sandbox is 'required', but none works here: ${notInstalled}`
  expect(stdout).toBe(`[\n  '${sentence}'\n]\n[\n  '${sentence}'\n]\ninvalid_input ${refusal}\n`)
})

test('one that requires a sandbox is warned that nothing will run', async () => {
  const { warnings } = await withoutBubblewrap('required')
  expect(warnings).toEqual([
    `[MILLRACE_NO_SANDBOX] Warning: shell: sandbox is 'required', but none works here: ${notInstalled}`,
  ])
})

test('one that has switched it off knows', async () => {
  const { stdout, warnings } = await withoutBubblewrap('off')
  expect(stdout).toContain("Commands run without a sandbox, with all rights of your user: sandbox is 'off'.")
  expect(warnings).toEqual([])
})
