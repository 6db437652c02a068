import { homedir } from 'node:os'
import { join } from 'node:path'
import { files, permission, permissionFile, shell, webFetch } from '@millrace/tools'

// Also for the chat in a terminal: npx millrace --tools examples/coding-agent/tools.ts

/** What a coding agent works with, all of it inside one folder. */
export const toolsFor = (workspace: string) =>
  [files({ workspace }), shell({ workspace }), webFetch()] as const

// Not `cat *`, `rg *` or `git diff *`: they show every file of the machine, whatever the rules for files say. And to run the
// tests is to run all that they do, so that only the sandbox makes it harmless.
const harmless = ['node --test *', 'npm test *', 'git status *', 'git diff', 'git log *', 'ls *']

/** Files of the workspace are its own. Commands run freely in the sandbox; without one only the harmless, and a person is asked about others. */
export const rulesFor = (workspace: string) =>
  permission({
    allow: ['read(**)', 'write(**)', ...harmless.map((command) => `run(${command})`)],
    deny: ['read(**/.env*)', 'write(**/.env*)', 'write(**/.git)', 'run(sudo *)', 'run(git push *)'],
    // Commands that might read a denied file are asked about all the same.
    sandboxed: 'allow',
    // Not in the workspace: what the agent can write there it could allow itself.
    memory: permissionFile(join(homedir(), '.millrace', `${encodeURIComponent(workspace)}.json`)),
  })

const rules = rulesFor(process.cwd())

export { rules as permission }
export default toolsFor(process.cwd())
