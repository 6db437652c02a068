import { plainText } from './plain-text.ts'
import { box, player } from './player.ts'

const write = plainText(box)
player((pieces) => write(pieces.join('')))
