// The page of a new coupon works without scripts. This script fills in its frame.
import { start } from "../shell.js";

await start();
