// A page of administrators that works without scripts: only what is around it is added.
import { start } from "../shell.js";

await start();
